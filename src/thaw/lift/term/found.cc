// What a found term is: its values, its size, what it is made of and whether it may be rounded otherwise.
#include <algorithm>

#include "thaw/lift/term/bits.h"
#include "thaw/lift/term/enumerate.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

template <typename Number>
Number Terms::outcome(const Found& term, Number x, Number y, Number z) {
  using std::max, std::min;
  const Number more(term.more);
  switch (term.op) {
    case Operator::kNone:
      break;
    case Operator::kPlus:
      x = x + y;
      break;
    case Operator::kMinus:
      x = x - y;
      break;
    case Operator::kTimes:
      x = x * y;
      break;
    case Operator::kOver:
      x = floor_div(x, y);
      break;
    case Operator::kHalfDown:
      x = floor_div(x - y, Number(2));
      break;
    case Operator::kHalfUp:
      x = ceil_div(x - y, Number(2));
      break;
    case Operator::kMin:
      return min(x, term.y ? y : more);
    case Operator::kMax:
      return max(x, term.y ? y : more);
  }
  return floor_div(x * z, Number(term.divisor)) * Number(term.factor) + more;
}

std::optional<Terms::Values> Terms::values(const Found& term) const {
  const auto at = [&](const Used* used, size_t k) { return __int128{used ? used->at()[k] : 1}; };
  Values values(num_points_);
  for (size_t k = 0; k < num_points_; ++k) {
    if (term.op == Operator::kOver && at(term.y, k) == 0) return std::nullopt;
    // A product of three and their factor may be more than 64 bits hold.
    const __int128 v = outcome<__int128>(term, at(term.x, k), at(term.y, k), at(term.z, k));
    values[k] = static_cast<int64_t>(v);
    if (values[k] != v) return std::nullopt;
  }
  return values;
}

dim::Dim Terms::size(const Found& term) {
  const auto of = [](const Used* used) { return used ? used->form->size() : dim::Dim(1); };
  return outcome(term, of(term.x), of(term.y), of(term.z));
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
