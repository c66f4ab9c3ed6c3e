// to_string: the text of a Dim.
#include <algorithm>
#include <vector>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/poly.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

// How tightly a text binds: what stands beside "*" or "%" needs kFactor.
enum class Binding : uint8_t { kSum, kProduct, kFactor };

struct Text {
  std::string text;
  Binding binding = Binding::kFactor;
};

std::string wrapped(const Text& t, Binding needed) { return t.binding >= needed ? t.text : "(" + t.text + ")"; }

// One summand: coef * body, and what it is sorted by.
struct Summand {
  int64_t coef = 0;
  Text body;
  int degree = 0;
  std::vector<Factor> factors;
  Dim numerator, divisor;  // of a remainder; unknown otherwise
};

int compare_dims(Dim a, Dim b);

// Symbols first, in the order they were made; then by kind and operands. Not by id: the same expression prints the same
// whatever was built before it.
int compare_atoms(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::kSymbol) return a.symbol < b.symbol ? -1 : 1;
  for (size_t i = 0; i < a.operands.size() && i < b.operands.size(); ++i) {
    if (const int order = compare_dims(a.operands[i], b.operands[i]); order != 0) return order;
  }
  return a.operands.size() < b.operands.size() ? -1 : 1;
}

int compare_factors(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int order = compare_atoms(*a[i].atom, *b[i].atom); order != 0) return order;
    if (a[i].power != b[i].power) return a[i].power > b[i].power ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}

std::vector<Factor> in_order(std::vector<Factor> factors) {
  std::sort(factors.begin(), factors.end(),
            [](const Factor& x, const Factor& y) { return compare_atoms(*x.atom, *y.atom) < 0; });
  return factors;
}

struct OrderedTerm {
  int64_t coef;
  int degree;
  std::vector<Factor> factors;
};

int compare_terms(const OrderedTerm& a, const OrderedTerm& b) {
  if (a.degree != b.degree) return a.degree > b.degree ? -1 : 1;
  return compare_factors(a.factors, b.factors);
}

std::vector<OrderedTerm> ordered_terms(const Expr& e) {
  std::vector<OrderedTerm> terms;
  for (const Term& t : e.terms) terms.push_back({t.coef, t.monomial->degree, in_order(t.monomial->factors)});
  std::sort(terms.begin(), terms.end(), [](auto& x, auto& y) { return compare_terms(x, y) < 0; });
  return terms;
}

int compare_dims(Dim a, Dim b) {
  if (same(a, b)) return 0;
  if (!a.is_symbolic() || !b.is_symbolic()) {
    if (a.is_symbolic() != b.is_symbolic()) return a.is_symbolic() ? -1 : 1;
    return a.constant() < b.constant() ? -1 : 1;
  }
  const auto x = ordered_terms(*a.expr());
  const auto y = ordered_terms(*b.expr());
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const int order = compare_terms(x[i], y[i]); order != 0) return order;
    if (x[i].coef != y[i].coef) return x[i].coef < y[i].coef ? -1 : 1;
  }
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  return a.expr()->constant < b.expr()->constant ? -1 : 1;
}

class Printer {
 public:
  explicit Printer(Scope& scope) : scope_(scope) {}

  Text print(Dim d) {
    if (auto value = d.constant()) return {std::to_string(*value), *value < 0 ? Binding::kSum : Binding::kFactor};
    if (!d.is_symbolic()) return {"?", Binding::kFactor};
    int64_t constant = 0;
    std::vector<Summand> summands;
    Dim rest = take_remainders(d, summands);
    if (auto value = rest.constant()) {
      constant = *value;
    } else {
      constant = rest.expr()->constant;
      for (const Term& t : rest.expr()->terms) summands.push_back(summand(t, constant));
    }
    tidy_remainder(summands, constant);
    push_into_extremum(summands, constant);
    return join(summands, constant);
  }

 private:
  // c * (p - b*floor(p/b)) is c * (p % b): takes each such part out of d, as a summand, and returns what is left.
  Dim take_remainders(Dim d, std::vector<Summand>& summands) {
    for (bool found = true; found && d.is_symbolic();) {
      found = false;
      for (const Term& t : d.expr()->terms) {
        const Atom* floor_atom = nullptr;
        for (const Factor& f : t.monomial->factors) {
          if (f.atom->kind == AtomKind::kFloor && f.power == 1) floor_atom = f.atom;
        }
        if (floor_atom == nullptr) continue;
        if (auto left = take_remainder(d, t, *floor_atom, summands)) {
          d = *left;
          found = true;
          break;
        }
      }
    }
    return d;
  }

  std::optional<Dim> take_remainder(Dim d, const Term& t, const Atom& atom, std::vector<Summand>& summands) {
    const Dim numerator = atom.operands[0];
    const Dim divisor = atom.operands[1];
    Scope::Impl& tables = scope_.impl();
    // -b * floor(p/b) must divide into t: t = coef * (-lead of b) * floor(p/b).
    Poly whole(tables, numerator);
    whole.add_product(tables.monomial(&atom), divisor, -1);
    const Dim remainder = whole.finish();
    if (!remainder.is_symbolic()) return std::nullopt;
    const auto matching = std::find_if(remainder.expr()->terms.begin(), remainder.expr()->terms.end(),
                                       [&](const Term& u) { return u.monomial == t.monomial; });
    if (matching == remainder.expr()->terms.end() || t.coef % matching->coef != 0) return std::nullopt;
    const int64_t coef = t.coef / matching->coef;
    // Every term of the remainder must be in d, with that coefficient times `coef`.
    for (const Term& u : remainder.expr()->terms) {
      const auto in_d = std::find_if(d.expr()->terms.begin(), d.expr()->terms.end(),
                                     [&](const Term& v) { return v.monomial == u.monomial; });
      int64_t part = 0;
      if (in_d == d.expr()->terms.end() || __builtin_mul_overflow(u.coef, coef, &part) || in_d->coef != part)
        return std::nullopt;
    }
    Poly left(tables, d);
    left.add(remainder, -coef);
    const Dim rest = left.finish();
    if (rest.is_unknown()) return std::nullopt;
    Summand taken;
    taken.coef = coef;
    taken.body = {wrapped(print(numerator), Binding::kFactor) + " % " + wrapped(print(divisor), Binding::kFactor),
                  Binding::kProduct};
    taken.degree = 1;
    taken.factors = {{&atom, 1}};
    taken.numerator = numerator;
    taken.divisor = divisor;
    summands.push_back(std::move(taken));
    return rest;
  }

  // -(p % m) + m - 1 is (-p - 1) % m.
  void tidy_remainder(std::vector<Summand>& summands, int64_t& constant) {
    for (Summand& s : summands) {
      const auto m = s.divisor.constant();
      if (s.coef != -1 || !m || constant != *m - 1) continue;
      Dim mirrored = -s.numerator - 1;
      if (!mirrored.is_symbolic()) continue;
      // The numerator of the normal form has its constant in [0, m): bring this one into (-m, 0].
      mirrored = mirrored + *m * floor_quotient(-mirrored.expr()->constant, *m);
      if (mirrored.is_unknown()) continue;
      s.coef = 1;
      s.body.text = wrapped(print(mirrored), Binding::kFactor) + " % " + std::to_string(*m);
      constant = 0;
      return;
    }
  }

  // max(n, 1) - 1 is max(n - 1, 0): done where an operand becomes 0.
  void push_into_extremum(std::vector<Summand>& summands, int64_t& constant) {
    if (constant == 0) return;
    for (Summand& s : summands) {
      if (constant % s.coef != 0 || s.factors.size() != 1 || s.factors[0].power != 1) continue;
      const Atom& atom = *s.factors[0].atom;
      if (atom.kind != AtomKind::kMin && atom.kind != AtomKind::kMax) continue;
      const int64_t shift = constant / s.coef;
      if (!std::any_of(atom.operands.begin(), atom.operands.end(), [&](Dim d) { return d.is_constant(-shift); }))
        continue;
      std::vector<Dim> operands;
      for (Dim d : atom.operands) operands.push_back(d + shift);
      if (std::any_of(operands.begin(), operands.end(), [](Dim d) { return d.is_unknown(); })) continue;
      s.body.text = call(atom.kind == AtomKind::kMin ? "min" : "max", operands);
      constant = 0;
      return;
    }
  }

  Summand summand(const Term& t, int64_t& constant) {
    Summand result;
    result.coef = t.coef;
    result.degree = t.monomial->degree;
    result.factors = in_order(t.monomial->factors);
    std::string text;
    for (const Factor& f : result.factors) {
      const bool is_alone = result.factors.size() == 1 && f.power == 1;
      // Once only: what it holds is printed with it, and may hold floors itself.
      Text factor = f.atom->kind == AtomKind::kFloor && is_alone ? print_floor(*f.atom, result.coef, constant)
                                                                 : print_atom(*f.atom);
      for (int i = 0; i < f.power; ++i) text += (text.empty() ? "" : "*") + wrapped(factor, Binding::kFactor);
      if (is_alone) {
        result.body = std::move(factor);
        return result;
      }
    }
    result.body = {text, Binding::kProduct};
    return result;
  }

  // A floor that is a summand by itself may borrow from its sign and the constant beside it.
  Text print_floor(const Atom& atom, int64_t& coef, int64_t& constant) {
    const Dim numerator = atom.operands[0];
    const Dim divisor = atom.operands[1];
    if (!divisor.is_symbolic() || !numerator.is_symbolic()) return print_atom(atom);
    // Where ceil has this very normal form: floor((p - 1)/b) = ceil(p/b) - 1 for b > 0, and floor(-p/b) = -ceil(p/b).
    const Dim itself = scope_.impl().dim_of(&atom);
    int64_t with_ceil = 0;
    if (numerator.expr()->constant == -1 && same(ceil_div(numerator + 1, divisor), itself + 1) &&
        !__builtin_sub_overflow(constant, coef, &with_ceil)) {
      constant = with_ceil;
      return {call("ceil", numerator + 1, divisor), Binding::kFactor};
    }
    if (numerator.expr()->terms[0].coef < 0 && same(ceil_div(-numerator, divisor), -itself)) {
      coef = -coef;
      return {call("ceil", -numerator, divisor), Binding::kFactor};
    }
    return print_atom(atom);
  }

  Text print_atom(const Atom& atom) {
    switch (atom.kind) {
      case AtomKind::kSymbol:
        return {scope_.symbols()[static_cast<size_t>(atom.symbol)].name, Binding::kFactor};
      case AtomKind::kFloor: {
        const Dim numerator = atom.operands[0];
        const auto m = atom.operands[1].constant();
        if (m && numerator.is_symbolic() && numerator.expr()->constant == *m - 1) {
          return {call("ceil", numerator - (*m - 1), atom.operands[1]), Binding::kFactor};
        }
        return {call("floor", numerator, atom.operands[1]), Binding::kFactor};
      }
      case AtomKind::kMin:
        return {call("min", atom.operands), Binding::kFactor};
      case AtomKind::kMax:
        return {call("max", atom.operands), Binding::kFactor};
      default:
        return {print_broadcast(atom.operands), Binding::kFactor};
    }
  }

  std::string call(const char* name, Dim numerator, Dim divisor) {
    // A product before "/" needs no parentheses for the reader of this grammar, which takes "/" last; others may.
    return std::string(name) + "(" + wrapped(print(numerator), Binding::kProduct) + "/" +
           wrapped(print(divisor), Binding::kFactor) + ")";
  }

  std::string call(const char* name, const std::vector<Dim>& operands) {
    std::vector<Dim> sorted = operands;
    std::sort(sorted.begin(), sorted.end(), [](Dim a, Dim b) { return compare_dims(a, b) < 0; });
    std::string text = name;
    for (size_t i = 0; i < sorted.size(); ++i) text += (i == 0 ? "(" : ", ") + print(sorted[i]).text;
    return text + ")";
  }

  // Two operands a call, nested: the form that every reader of the grammar takes.
  std::string print_broadcast(std::vector<Dim> operands) {
    std::sort(operands.begin(), operands.end(), [](Dim a, Dim b) { return compare_dims(a, b) < 0; });
    std::string text = print(operands.front()).text;
    for (size_t i = 1; i < operands.size(); ++i) {
      text.insert(0, "broadcast(");
      text.append(", ").append(print(operands[i]).text).append(")");
    }
    return text;
  }

  static Text join(std::vector<Summand>& summands, int64_t constant) {
    std::sort(summands.begin(), summands.end(), [](const Summand& a, const Summand& b) {
      if (a.degree != b.degree) return a.degree > b.degree;
      const int order = compare_factors(a.factors, b.factors);
      return order != 0 ? order < 0 : a.coef > b.coef;
    });
    // Start with something positive, where there is something.
    auto positive = std::find_if(summands.begin(), summands.end(), [](const Summand& s) { return s.coef > 0; });
    const bool constant_first = positive == summands.end() && constant > 0;
    if (positive != summands.end()) std::rotate(summands.begin(), positive, positive + 1);
    std::string text = constant_first ? std::to_string(constant) : "";
    Binding binding = Binding::kSum;
    for (const Summand& s : summands) {
      const bool first = text.empty();
      const int64_t magnitude = s.coef < 0 ? -s.coef : s.coef;
      text += first ? (s.coef < 0 ? "-" : "") : (s.coef < 0 ? " - " : " + ");
      // A product takes a coefficient in front; a remainder needs parentheses for that.
      const bool remainder = s.body.text.find(" % ") != std::string::npos && s.body.binding == Binding::kProduct;
      if (magnitude == 1) {
        text += s.coef < 0 && first && remainder ? "(" + s.body.text + ")" : s.body.text;
        if (first && s.coef > 0 && summands.size() == 1 && constant == 0) binding = s.body.binding;
      } else {
        text += std::to_string(magnitude) + "*" + (remainder ? "(" + s.body.text + ")" : s.body.text);
        if (first && s.coef > 0 && summands.size() == 1 && constant == 0) binding = Binding::kProduct;
      }
    }
    if (!constant_first && constant != 0) {
      text += constant < 0 ? " - " : " + ";
      text += std::to_string(constant < 0 ? -constant : constant);
    }
    return {text, binding};
  }

  Scope& scope_;
};

}  // namespace

std::string to_string(Dim d) {
  if (auto value = d.constant()) return std::to_string(*value);
  if (!d.is_symbolic()) return "?";
  return Printer(*d.expr()->scope).print(d).text;
}

}  // namespace thaw::dim
