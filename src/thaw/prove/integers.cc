// Integers and truth values in normal form. Sums of integers are exact in any width: arithmetic modulo 2^n is a ring.
#include <algorithm>
#include <array>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using dim::Dim;
using ir::DataType;
using ops::Shape;

namespace {

constexpr double kMostFactor = 0x1p31;  // of a term: beyond, float64 may not hold a product
constexpr size_t kMostArguments = 16;   // of a term that becomes part of another: chains take linear time

bool is_of_ring(DataType type) { return type == DataType::kInt32 || type == DataType::kInt64; }

}  // namespace

std::optional<Dim> uniform(const Terms& terms, TermId id) {
  while (terms[id].is("Expand") || terms[id].is("Reshape")) id = terms[id].arguments[0];
  const Term& term = terms[id];
  if (term.kind != Term::Kind::kSizes || term.dims.empty()) return std::nullopt;
  const bool is_same =
      std::ranges::all_of(term.dims, [&](Dim d) { return d.is_known() && dim::same(d, term.dims.front()); });
  return is_same ? std::optional(term.dims.front()) : std::nullopt;
}

namespace {

std::optional<Shape> broadcast_of(const Terms& terms, std::span<const TermId> operands) {
  std::optional<Shape> shape = Shape{};
  for (const TermId id : operands)
    shape = shape && terms[id].shape ? broadcast_shapes(*shape, *terms[id].shape) : std::nullopt;
  return shape;
}

class OfIntegers {
 public:
  OfIntegers(Algebra& algebra, const NodeToRead& read) : algebra_(algebra), terms_(algebra.terms), read_(read) {}

  std::optional<TermId> sum(std::initializer_list<double> signs) {
    if (!are_of_ring(signs.size())) return std::nullopt;
    return algebra_.elementwise(read_.operands, [&](const std::vector<TermId>& o) {
      std::vector<Scaled> addends;
      for (size_t i = 0; i < o.size(); ++i) addends.push_back({signs.begin()[i], o[i]});
      return algebra_.arithmetic.sum(addends, terms_[o[0]].dtype);
    });
  }

  // By a number that is known: the other operand so many times.
  std::optional<TermId> product() {
    if (!are_of_ring(2)) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const auto number = uniform(terms_, read_.operands[i]);
      const auto factor = number ? number->constant() : std::nullopt;
      if (!factor || static_cast<double>(*factor) > kMostFactor || static_cast<double>(*factor) < -kMostFactor)
        continue;
      return algebra_.elementwise(read_.operands, [&](const std::vector<TermId>& o) {
        return algebra_.arithmetic.sum({{static_cast<double>(*factor), o[1 - i]}}, terms_[o[0]].dtype);
      });
    }
    return std::nullopt;
  }

  // Where numbers that are known are not 0, axis by axis.
  std::optional<TermId> non_zero() {
    const auto values = integers_of(terms_, read_.operands[0]);
    const std::vector<int64_t> dims = terms_[read_.operands[0]].ints;
    if (!values || dims.empty()) return std::nullopt;
    std::vector<std::vector<Dim>> places(dims.size());
    for (size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i] == 0) continue;
      auto left = static_cast<int64_t>(i);
      for (size_t k = dims.size(); k-- > 0; left /= dims[k]) places[k].emplace_back(left % dims[k]);
    }
    std::vector<Dim> all;
    for (const auto& axis : places) all.insert(all.end(), axis.begin(), axis.end());
    const auto count = static_cast<int64_t>(places[0].size());
    return algebra_.constants.sizes(DataType::kInt64, {static_cast<int64_t>(dims.size()), count}, std::move(all));
  }

  std::optional<TermId> logical(std::string_view op) {
    if (!are_all(DataType::kBool, 2)) return std::nullopt;
    return algebra_.elementwise(read_.operands, [&](const std::vector<TermId>& o) { return algebra_.logical(op, o); });
  }

  std::optional<TermId> negated() {
    if (!are_all(DataType::kBool, 1)) return std::nullopt;
    return algebra_.negation(read_.operands[0]);
  }

  // a > b as b < a, and of whole numbers as what is not a <= b.
  std::optional<TermId> compared(const std::string& other, bool is_turned) {
    if (!read_.has(0) || !read_.has(1) || terms_[read_.operands[0]].dtype != terms_[read_.operands[1]].dtype)
      return std::nullopt;
    if (is_of_ring(terms_[read_.operands[0]].dtype)) {
      const TermId low = read_.operands[is_turned ? 1 : 0], high = read_.operands[is_turned ? 0 : 1];
      if (other == "LessOrEqual") return algebra_.at_most(low, high);
      const auto opposite = algebra_.at_most(high, low);
      return opposite ? std::optional(algebra_.negation(*opposite)) : std::nullopt;
    }
    if (!is_turned) return std::nullopt;
    return algebra_.elementwise(read_.operands, [&](const std::vector<TermId>& o) {
      return terms_.apply("node " + other, {o[1], o[0]}, DataType::kBool, broadcast_of(terms_, o),
                          settings_of_plain(other));
    });
  }

 private:
  bool are_all(DataType type, size_t count) const {
    return read_.opset >= 7 && read_.operands.size() == count &&
           std::ranges::all_of(read_.operands, [&](TermId id) { return id != kNoTerm && terms_[id].dtype == type; });
  }
  bool are_of_ring(size_t count) const {
    return !read_.operands.empty() && read_.has(0) && is_of_ring(terms_[read_.operands[0]].dtype) &&
           are_all(terms_[read_.operands[0]].dtype, count);
  }

  Algebra& algebra_;
  Terms& terms_;
  const NodeToRead& read_;
};

}  // namespace

// A sum that is reshaped, as a sum of what is reshaped; else the term itself.
Term Arithmetic::without_reshape(TermId x) {
  Term view = terms_[x];
  if (!view.is("Reshape") || terms_[view.arguments[0]].kind != Term::Kind::kSum) return view;
  Term sum = terms_[view.arguments[0]];
  if (!is_known(sum.shape) || sum.arguments.size() > kMostArguments) return view;
  for (TermId& one : sum.arguments) {
    if (uniform(terms_, one)) continue;
    if (!is_known(terms_[one].shape) || !is_same(*terms_[one].shape, *sum.shape)) return view;
    one = views_.reshape(one, *view.shape);
  }
  return sum;
}

TermId Arithmetic::sum_of_integers(const std::vector<Scaled>& addends, DataType type) {
  std::vector<Scaled> flat;
  Dim number = 0;
  const auto take = [&](double factor, TermId term) {
    const auto known = uniform(terms_, term);
    const Dim more = known ? number + *known * Dim(static_cast<int64_t>(factor)) : Dim();
    if (known && more.is_known()) {
      number = more;
    } else {
      flat.push_back({factor, term});
    }
  };
  for (const Scaled& one : addends) {
    const TermId bare = views_.unexpanded(one.term);
    const Term term = without_reshape(bare);
    const bool is_sum =
        term.kind == Term::Kind::kSum && term.arguments.size() <= kMostArguments &&
        std::ranges::all_of(term.numbers, [&](double n) { return std::abs(n * one.factor) <= kMostFactor; });
    if (!is_sum) {
      take(one.factor, bare);
      continue;
    }
    for (size_t i = 0; i < term.arguments.size(); ++i) take(one.factor * term.numbers[i], term.arguments[i]);
  }
  std::ranges::stable_sort(flat, {}, &Scaled::term);
  std::vector<Scaled> merged;
  for (const Scaled& one : flat) {
    const bool is_more =
        !merged.empty() && merged.back().term == one.term && std::abs(merged.back().factor + one.factor) <= kMostFactor;
    if (is_more) {
      merged.back().factor += one.factor;
    } else {
      merged.push_back(one);
    }
  }
  std::erase_if(merged, [](const Scaled& one) { return one.factor == 0; });
  if (merged.empty() || !number.is_constant(0)) merged.push_back({1, constants_.sizes(type, {}, {number})});
  if (merged.size() == 1 && merged[0].factor == 1) return merged[0].term;
  std::ranges::stable_sort(merged, {}, &Scaled::term);
  Term term;
  term.kind = Term::Kind::kSum;
  term.dtype = type;
  term.shape = Shape{};
  for (const Scaled& one : merged) append(term, one.term, one.factor);
  return terms_.add(std::move(term));
}

TermId Algebra::logical(std::string_view op, std::span<const TermId> operands) {
  const int64_t neutral = op == "And" ? 1 : 0;
  std::vector<TermId> flat;
  bool is_settled = false;  // by an operand that leaves nothing open
  const auto take = [&](TermId id) {
    const auto known = uniform(terms, id);
    if (!known || !known->is_constant()) {
      flat.push_back(id);
    } else if (*known->constant() != neutral) {
      is_settled = true;
    }
  };
  for (const TermId id : operands) {
    if (terms[id].is(op) && terms[id].arguments.size() <= kMostArguments) {
      const std::vector<TermId> inner = terms[id].arguments;
      for (const TermId one : inner) take(one);
    } else {
      take(id);
    }
  }
  if (is_settled || flat.empty())
    return constants.sizes(DataType::kBool, {}, {Dim(is_settled ? 1 - neutral : neutral)});
  std::ranges::sort(flat);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (flat.size() == 1) return flat[0];
  return terms.apply(std::string(op), flat, DataType::kBool, broadcast_of(terms, flat));
}

std::optional<TermId> Algebra::at_most(TermId a, TermId b) {
  if (is_of_ring(terms[a].dtype))
    return elementwise({a, b}, [&](const std::vector<TermId>& o) {
      const TermId above = arithmetic.sum({{1, o[0]}, {-1, o[1]}}, terms[o[0]].dtype);
      return terms.assuming(kIntegersFit, terms.apply("AtMostZero", {above}, DataType::kBool, terms[above].shape));
    });
  return elementwise({a, b}, [&](const std::vector<TermId>& o) {
    return terms.apply("node LessOrEqual", o, DataType::kBool, broadcast_of(terms, o),
                       settings_of_plain("LessOrEqual"));
  });
}

TermId Algebra::positions(Dim count) {
  const auto number = [&](Dim d) { return constants.sizes(DataType::kInt64, {}, {d}); };
  return terms.apply("node Range", {number(0), number(count), number(1)}, DataType::kInt64, Shape{count},
                     settings_of_plain("Range"));
}

TermId Algebra::negation(TermId truth) {
  const auto write = [&](const std::vector<TermId>& o) {
    if (const auto known = uniform(terms, o[0]); known && known->is_constant())
      return constants.sizes(DataType::kBool, {}, {Dim(*known->constant() == 0 ? 1 : 0)});
    const Term of = terms[o[0]];
    if (of.is("node Not")) return of.arguments[0];
    // Not x <= 0 is 1 - x <= 0.
    if (of.is("AtMostZero")) {
      const ir::DataType type = terms[of.arguments[0]].dtype;
      const TermId above = arithmetic.sum({{-1, of.arguments[0]}, {1, constants.sizes(type, {}, {Dim(1)})}}, type);
      return terms.assuming(kIntegersFit, terms.apply("AtMostZero", {above}, DataType::kBool, terms[above].shape));
    }
    if (of.is("Slice") && terms[of.arguments[0]].is("AtMostZero")) {
      Term cut = of;
      cut.arguments[0] = negation(of.arguments[0]);
      return terms.add(std::move(cut));
    }
    if (of.is("And") || of.is("Or")) {
      std::vector<TermId> opposites;
      for (const TermId one : of.arguments) opposites.push_back(negation(one));
      return logical(of.is("And") ? "Or" : "And", opposites);
    }
    return terms.apply("node Not", o, DataType::kBool, terms[o[0]].shape, settings_of_plain("Not"));
  };
  return elementwise({truth}, write).value_or(write({truth}));
}

std::vector<TermId> of_integers(Algebra& algebra, const NodeToRead& read) {
  using Law = std::optional<TermId> (*)(OfIntegers&);
  static const std::unordered_map<std::string_view, Law> all = {
      {"Add", [](OfIntegers& n) { return n.sum({1, 1}); }},
      {"Sub", [](OfIntegers& n) { return n.sum({1, -1}); }},
      {"Neg", [](OfIntegers& n) { return n.sum({-1}); }},
      {"Mul", [](OfIntegers& n) { return n.product(); }},
      {"NonZero", [](OfIntegers& n) { return n.non_zero(); }},
      {"And", [](OfIntegers& n) { return n.logical("And"); }},
      {"Or", [](OfIntegers& n) { return n.logical("Or"); }},
      {"Not", [](OfIntegers& n) { return n.negated(); }},
      {"Less", [](OfIntegers& n) { return n.compared("Less", false); }},
      {"Greater", [](OfIntegers& n) { return n.compared("Less", true); }},
      {"LessOrEqual", [](OfIntegers& n) { return n.compared("LessOrEqual", false); }},
      {"GreaterOrEqual", [](OfIntegers& n) { return n.compared("LessOrEqual", true); }},
  };
  const auto found = all.find(read.node.op_type());
  if (found == all.end()) return {};
  OfIntegers laws(algebra, read);
  const auto made = found->second(laws);
  return made ? std::vector{*made} : std::vector<TermId>();
}

}  // namespace thaw::proving
