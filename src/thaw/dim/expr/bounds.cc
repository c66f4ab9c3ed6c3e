#include "thaw/dim/expr/bounds.h"

#include "thaw/dim/expr/wide.h"

namespace thaw::dim {
namespace {

// Larger than any product of two finite ends; stands for an infinite end inside a computation.
constexpr Wide kInfinite = Wide{1} << 126;

Wide widen(int64_t end) {
  if (end == Bounds::kMinusInfinity) return -kInfinite;
  if (end == Bounds::kPlusInfinity) return kInfinite;
  return end;
}

// A lower end may be lowered and an upper end raised: past int64 they become infinite, or stop one short of the
// sentinel.
Bounds narrow(Wide lower, Wide upper) {
  Bounds result;
  if (lower > Bounds::kMinusInfinity) {
    result.lower = lower >= Bounds::kPlusInfinity ? Bounds::kPlusInfinity - 1 : static_cast<int64_t>(lower);
  }
  if (upper < Bounds::kPlusInfinity) {
    result.upper = upper <= Bounds::kMinusInfinity ? Bounds::kMinusInfinity + 1 : static_cast<int64_t>(upper);
  }
  return result;
}

bool is_infinite(Wide x) { return x >= kInfinite || x <= -kInfinite; }

Wide multiply_ends(Wide x, Wide y) {
  if (x == 0 || y == 0) return 0;
  if (is_infinite(x) || is_infinite(y)) return (x < 0) == (y < 0) ? kInfinite : -kInfinite;
  return x * y;
}

// floor of the quotient of two ends, y != 0; a finite end over an infinite one is 0 or -1.
Wide divide_ends(Wide x, Wide y) {
  if (is_infinite(x)) return (x < 0) == (y < 0) ? kInfinite : -kInfinite;
  if (is_infinite(y)) return x == 0 || (x < 0) == (y < 0) ? 0 : -1;
  const Wide quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

}  // namespace

Bounds operator+(Bounds a, Bounds b) {
  const Wide lower = a.has_lower() && b.has_lower() ? Wide{a.lower} + b.lower : -kInfinite;
  const Wide upper = a.has_upper() && b.has_upper() ? Wide{a.upper} + b.upper : kInfinite;
  return narrow(lower, upper);
}

Bounds operator*(Bounds a, Bounds b) {
  const Wide ends[] = {multiply_ends(widen(a.lower), widen(b.lower)), multiply_ends(widen(a.lower), widen(b.upper)),
                       multiply_ends(widen(a.upper), widen(b.lower)), multiply_ends(widen(a.upper), widen(b.upper))};
  return narrow(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

Bounds operator*(int64_t factor, Bounds a) {
  const Wide x = multiply_ends(factor, widen(a.lower));
  const Wide y = multiply_ends(factor, widen(a.upper));
  return narrow(std::min(x, y), std::max(x, y));
}

Bounds power(Bounds a, int exponent) {
  Bounds result = a;
  for (int i = 1; i < exponent; ++i) result = result * a;
  if (exponent % 2 == 0) result.lower = std::max<int64_t>(result.lower, 0);
  return result;
}

Bounds floor_div(Bounds a, Bounds b) {
  // Leave 0 out of the divisor where it is an end; where it is inside, both signs near 0 count.
  if (b.lower == 0) b.lower = 1;
  if (b.upper == 0) b.upper = -1;
  if (b.lower > b.upper) return {};
  Wide divisors[4] = {widen(b.lower), widen(b.upper), 1, -1};
  const int count = b.lower < 0 && b.upper > 0 ? 4 : 2;
  Wide lower = kInfinite;
  Wide upper = -kInfinite;
  for (int i = 0; i < count; ++i) {
    for (Wide end : {widen(a.lower), widen(a.upper)}) {
      const Wide quotient = divide_ends(end, divisors[i]);
      lower = std::min(lower, quotient);
      upper = std::max(upper, quotient);
    }
  }
  return narrow(lower, upper);
}

}  // namespace thaw::dim
