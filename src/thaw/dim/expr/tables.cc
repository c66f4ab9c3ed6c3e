#include "thaw/dim/expr/tables.h"

#include <algorithm>

#include "thaw/dim/expr/congruence.h"

namespace thaw::dim {
namespace {

uint64_t hash_of(Dim d) {
  if (const Expr* e = d.expr()) return mix(1, static_cast<uint64_t>(e->id));
  return mix(2, static_cast<uint64_t>(d.constant().value_or(0)));
}

// One operand, as opposed to one value: unknown is identical to unknown here.
bool identical(Dim a, Dim b) { return a.expr() == b.expr() && a.constant() == b.constant(); }

int size_of(Dim d) { return d.is_symbolic() ? d.expr()->size : 1; }
int depth_of(Dim d) { return d.is_symbolic() ? d.expr()->depth : 0; }

}  // namespace

bool OpKey::operator==(const OpKey& other) const {
  return op == other.op && identical(a, other.a) && identical(b, other.b);
}

size_t OpKeyHash::operator()(const OpKey& key) const {
  return mix(mix(static_cast<uint64_t>(key.op), hash_of(key.a)), hash_of(key.b));
}

const Atom* Scope::Impl::symbol_atom(int symbol) {
  const uint64_t hash = mix(7, static_cast<uint64_t>(symbol));
  if (const Atom* found = atoms.find(hash, [&](const Atom& a) { return a.symbol == symbol; })) return found;
  Atom made;
  made.id = static_cast<int>(atoms.size());
  made.symbol = symbol;
  const SymbolKind kind = symbols[static_cast<size_t>(symbol)].kind;
  made.data_dependent = kind == SymbolKind::kDataDependent || kind == SymbolKind::kDataDependentValue;
  return atoms.insert(hash, std::move(made));
}

const Atom* Scope::Impl::atom(AtomKind kind, std::span<const Dim> operands) {
  uint64_t hash = mix(3, static_cast<uint64_t>(kind));
  for (Dim d : operands) hash = mix(hash, hash_of(d));
  const Atom* found = atoms.find(hash, [&](const Atom& a) {
    return a.kind == kind &&
           std::equal(a.operands.begin(), a.operands.end(), operands.begin(), operands.end(), identical);
  });
  if (found != nullptr) return found;
  if (!work(4 * operands.size())) return nullptr;
  Atom made;
  made.kind = kind;
  made.id = static_cast<int>(atoms.size());
  for (Dim d : operands) {
    if (d.is_unknown()) return nullptr;
    made.size += size_of(d);
    made.depth = std::max(made.depth, depth_of(d) + 1);
    made.data_dependent |= d.is_symbolic() && d.expr()->data_dependent;
    if (made.size > term_budget) return nullptr;
  }
  if (made.depth > kMaxDepth) return nullptr;
  made.operands.assign(operands.begin(), operands.end());
  if (kind == AtomKind::kFloor && operands[1].is_constant() && operands[0].is_symbolic()) {
    const Congruence known = congruence(operands[0], *operands[1].constant());
    made.exact = known.modulus == *operands[1].constant() && known.remainder == 0;
  }
  held.hold(sizeof(Atom) + operands.size() * sizeof(Dim) + kBytesOfSlot);
  const Atom* inserted = atoms.insert(hash, std::move(made));
  if (kind == AtomKind::kFloor && operands[1].is_constant(2)) pair_halves(inserted);
  return inserted;
}

void Scope::Impl::pair_halves(const Atom* half) {
  if (!half->operands[0].is_symbolic()) return;
  const Expr& numerator = *half->operands[0].expr();
  const Dim other[] = {expression(numerator.constant == 0 ? 1 : 0, numerator.terms), Dim(2)};
  uint64_t hash = mix(3, static_cast<uint64_t>(AtomKind::kFloor));
  for (Dim d : other) hash = mix(hash, hash_of(d));
  half->other_half = atoms.find(hash, [&](const Atom& a) {
    return a.kind == AtomKind::kFloor && std::equal(a.operands.begin(), a.operands.end(), other, other + 2, identical);
  });
  if (half->other_half != nullptr) half->other_half->other_half = half;
}

const Monomial* Scope::Impl::monomial(std::span<const Factor> factors) {
  uint64_t hash = 5;
  for (const Factor& f : factors)
    hash = mix(hash, static_cast<uint64_t>(f.atom->id) * 64 + static_cast<uint64_t>(f.power));
  const Monomial* found = monomials.find(hash, [&](const Monomial& m) {
    return std::equal(m.factors.begin(), m.factors.end(), factors.begin(), factors.end(),
                      [](const Factor& x, const Factor& y) { return x.atom == y.atom && x.power == y.power; });
  });
  if (!work(1 + factors.size())) return nullptr;
  if (found != nullptr) return found;
  Monomial made;
  made.id = static_cast<int>(monomials.size());
  made.degree = 0;
  made.size = 0;
  for (const Factor& f : factors) {
    made.degree += f.power;
    made.size += f.atom->size;
    made.depth = std::max(made.depth, f.atom->depth);
    made.data_dependent |= f.atom->data_dependent;
    const bool is_floor = f.atom->kind == AtomKind::kFloor;
    made.reducible |= is_floor ? f.atom->exact || f.atom->operands[1].is_constant(2) : is_extreme_of_two(*f.atom);
    if (made.degree > kMaxDegree || made.size > term_budget) return nullptr;
  }
  made.factors.assign(factors.begin(), factors.end());
  held.hold(sizeof(Monomial) + factors.size() * sizeof(Factor) + kBytesOfSlot);
  return monomials.insert(hash, std::move(made));
}

const Monomial* Scope::Impl::monomial(const Atom* atom) {
  if (atom == nullptr) return nullptr;
  const Factor factor{atom, 1};
  return monomial({&factor, 1});
}

const Monomial* Scope::Impl::multiply(const Monomial* a, const Monomial* b) {
  if (a->degree + b->degree > kMaxDegree) return nullptr;
  Factor merged[kMaxDegree];
  size_t count = 0;
  auto x = a->factors.begin();
  auto y = b->factors.begin();
  while (x != a->factors.end() || y != b->factors.end()) {
    if (y == b->factors.end() || (x != a->factors.end() && x->atom->id < y->atom->id)) {
      merged[count++] = *x++;
    } else if (x == a->factors.end() || y->atom->id < x->atom->id) {
      merged[count++] = *y++;
    } else {
      merged[count++] = {x->atom, x->power + y->power};
      ++x, ++y;
    }
  }
  return monomial({merged, count});
}

Dim Scope::Impl::expression(int64_t constant, std::span<const Term> terms) {
  if (terms.empty()) return Dim(constant);
  uint64_t hash = mix(11, static_cast<uint64_t>(constant));
  for (const Term& t : terms) {
    hash = mix(mix(hash, static_cast<uint64_t>(t.coef)), static_cast<uint64_t>(t.monomial->id));
  }
  const Expr* found = exprs.find(hash, [&](const Expr& e) {
    return e.constant == constant &&
           std::equal(e.terms.begin(), e.terms.end(), terms.begin(), terms.end(),
                      [](const Term& x, const Term& y) { return x.coef == y.coef && x.monomial == y.monomial; });
  });
  if (!work(1 + terms.size())) return Dim();
  if (found != nullptr) return Dim(found);
  Expr made;
  made.scope = scope;
  made.id = static_cast<int>(exprs.size());
  made.constant = constant;
  made.size = constant == 0 ? 0 : 1;
  for (const Term& t : terms) {
    made.size += t.monomial->size;
    made.depth = std::max(made.depth, t.monomial->depth);
    made.data_dependent |= t.monomial->data_dependent;
    if (made.size > term_budget) return Dim();
  }
  made.terms.assign(terms.begin(), terms.end());
  held.hold(sizeof(Expr) + terms.size() * sizeof(Term) + kBytesOfSlot);
  return Dim(exprs.insert(hash, std::move(made)));
}

Dim Scope::Impl::dim_of(const Atom* atom) {
  const Monomial* m = monomial(atom);
  if (m == nullptr) return Dim();
  const Term term{1, m};
  return expression(0, {&term, 1});
}

void Scope::Impl::assumptions_changed() {
  ++epoch;
  remembered.clear();
  proofs.clear();
}

}  // namespace thaw::dim
