// broadcast. The normal form: flat, each operand once, in the order of their making; no operand that is always 1, nor a min of
// another one, as of what was cut to its length; and an operand that is never 1 is the result, for the others are assumed to
// go with it.
#include <algorithm>
#include <vector>

#include "thaw/dim/expr/range.h"
#include "thaw/dim/expr/tables.h"

namespace thaw::dim {
namespace {

void flatten_broadcast(Dim d, std::vector<Dim>& operands) {
  const Atom* atom = single_atom(d);
  if (atom != nullptr && atom->kind == AtomKind::kBroadcast) {
    operands.insert(operands.end(), atom->operands.begin(), atom->operands.end());
  } else {
    operands.push_back(d);
  }
}

// Whether d is the least of an operand and of what is never below 1: then it is 1 where the operand is 1, so that the operand
// decides.
bool is_cut_of_one(Dim d, const std::vector<Dim>& operands) {
  const Atom* atom = single_atom(d);
  if (atom == nullptr || atom->kind != AtomKind::kMin) return false;
  const auto is_operand = [&](Dim part) {
    return std::any_of(operands.begin(), operands.end(), [&](Dim other) { return same(part, other); });
  };
  const auto whole = std::find_if(atom->operands.begin(), atom->operands.end(), is_operand);
  return whole != atom->operands.end() && std::all_of(atom->operands.begin(), atom->operands.end(), [&](Dim part) {
           const Bounds bounds = bounds_of(part);
           return same(part, *whole) || bounds.lower >= 1;
         });
}

Dim normal_broadcast(Dim a, Dim b, Scope::Impl& tables) {
  std::vector<Dim> operands;
  flatten_broadcast(a, operands);
  flatten_broadcast(b, operands);
  std::sort(operands.begin(), operands.end(), [](Dim x, Dim y) {
    if (!x.is_symbolic() || !y.is_symbolic()) return !x.is_symbolic() && y.is_symbolic();
    return x.expr()->id < y.expr()->id;
  });
  operands.erase(std::unique(operands.begin(), operands.end(), same), operands.end());
  std::erase_if(operands, [](Dim d) {
    const Bounds bounds = bounds_of(d);
    return bounds.is_point() && bounds.lower == 1;
  });
  const std::vector<Dim> all = operands;
  std::erase_if(operands, [&](Dim d) { return is_cut_of_one(d, all); });
  if (operands.empty()) return 1;
  for (Dim d : operands) {
    if (!bounds_of(d).contains(1)) return d;
  }
  if (operands.size() == 1) return operands[0];
  return tables.dim_of(tables.atom(AtomKind::kBroadcast, operands));
}

}  // namespace

Dim broadcast(Dim a, Dim b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (!a.is_symbolic() && !b.is_symbolic()) {
    // Known to be the same, or nothing can be said: 2 and 3 do not go together.
    if (a.is_constant() && b.is_constant()) return same(a, b) ? a : Dim();
    // The constant decides, whatever the unknown size is.
    return a.is_constant() ? a : b;
  }
  if (a.is_unknown() || b.is_unknown()) {
    const Dim known = a.is_unknown() ? b : a;
    return bounds_of(known).contains(1) ? Dim() : known;
  }
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  if (same(a, b)) return a;
  return remember(*tables, Op::kBroadcast, a, b, [&] { return normal_broadcast(a, b, *tables); });
}

}  // namespace thaw::dim
