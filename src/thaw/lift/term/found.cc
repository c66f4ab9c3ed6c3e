// What a found term is: its values, its size, what it is made of and whether it may be rounded otherwise.
#include <algorithm>

#include "thaw/lift/term/bits.h"
#include "thaw/lift/term/enumerate.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

std::optional<Terms::Values> Terms::values(const Found& term) const {
  Values at(num_points_);
  for (size_t k = 0; k < num_points_; ++k) {
    const int64_t x = term.x->at()[k], y = term.y ? term.y->at()[k] : term.more;
    int64_t v = x;
    switch (term.op) {
      case Operator::kNone:
        break;
      case Operator::kPlus:
        v = x + y;
        break;
      case Operator::kMinus:
        v = x - y;
        break;
      case Operator::kTimes:
        v = x * y;
        break;
      case Operator::kOver:
        if (y == 0) return std::nullopt;
        v = floor_of(x, y);
        break;
      case Operator::kHalfDown:
        v = floor_of(x - y, 2);
        break;
      case Operator::kHalfUp:
        v = ceil_of(x - y, 2);
        break;
      case Operator::kMin:
        at[k] = std::min(x, y);
        continue;
      case Operator::kMax:
        at[k] = std::max(x, y);
        continue;
    }
    if (__builtin_mul_overflow(v, term.factor, &v)) return std::nullopt;
    if (term.z && __builtin_mul_overflow(v, term.z->at()[k], &v)) return std::nullopt;
    at[k] = floor_of(v, term.divisor) + term.more;
  }
  return at;
}

dim::Dim Terms::size(const Found& term) {
  const dim::Dim x = term.x->form->size(), y = term.y ? term.y->form->size() : dim::Dim(term.more);
  dim::Dim size = x;
  switch (term.op) {
    case Operator::kNone:
      break;
    case Operator::kPlus:
      size = x + y;
      break;
    case Operator::kMinus:
      size = x - y;
      break;
    case Operator::kTimes:
      size = x * y;
      break;
    case Operator::kOver:
      size = dim::floor_div(x, y);
      break;
    case Operator::kHalfDown:
      size = dim::floor_div(x - y, 2);
      break;
    case Operator::kHalfUp:
      size = dim::ceil_div(x - y, 2);
      break;
    case Operator::kMin:
      return dim::min(x, y);
    case Operator::kMax:
      return dim::max(x, y);
  }
  if (term.z) size = size * term.z->form->size();
  if (term.divisor > 1) size = dim::floor_div(size, term.divisor);
  return size * dim::Dim(term.factor) + dim::Dim(term.more);
}

Makeup Terms::makeup(const Found& term) {
  switch (term.op) {
    case Operator::kNone:
      return term.more == 0 ? Makeup::kOfOne : Makeup::kWithNumber;
    case Operator::kMin:
    case Operator::kMax:
      return term.y ? Makeup::kOfSeveral : Makeup::kWithNumber;
    case Operator::kTimes:
    case Operator::kOver:
      return Makeup::kOfFactors;
    default:
      return Makeup::kOfSeveral;
  }
}

// A multiple of a part, a share, may be rounded otherwise.
bool Terms::rounds(const Found& term) {
  const auto is_plain = [&](const Used& used) { return used.is_exact && (term.factor == 1 || !is_cut(*used.form)); };
  switch (term.op) {
    case Operator::kNone:
      return !is_plain(*term.x);
    case Operator::kTimes:
      return !is_plain(*term.x) || !is_plain(*term.y);
    default:
      return true;
  }
}

bool Terms::is_told(const Found& term) {
  if ((term.op != Operator::kNone && term.op != Operator::kTimes) || term.more != 0 || term.z) return false;
  if (!term.y && term.factor == 1 && term.x->is_told) return true;
  return !rounds(term) && term.x->role == Atom::Role::kAround && (!term.y || term.y->role == Atom::Role::kAround);
}

}  // namespace thaw::lifting
