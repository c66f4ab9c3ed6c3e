#include "thaw/ops/rule/scale.h"

#include <cmath>
#include <cstdint>
#include <optional>

namespace thaw::ops {

using dim::Dim;

namespace {

struct Fraction {
  int64_t num, den;
};

constexpr int64_t kMaxDenominator = 4096;

// The convergents of the continued fraction of s, up to the first that rounds to s in float32.
std::optional<Fraction> simplest_fraction(float s) {
  double x = s;
  int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  for (int step = 0; step < 32; ++step) {
    double whole = std::floor(x);
    if (whole > 1e9) return std::nullopt;
    int64_t a = static_cast<int64_t>(whole);
    int64_t p2 = a * p1 + p0, q2 = a * q1 + q0;
    if (q2 > kMaxDenominator || p2 > (int64_t{1} << 31)) return std::nullopt;
    if (static_cast<float>(static_cast<double>(p2) / static_cast<double>(q2)) == s) return Fraction{p2, q2};
    p0 = p1, q0 = q1, p1 = p2, q1 = q2;
    if (x == whole) return std::nullopt;
    x = 1 / (x - whole);
  }
  return std::nullopt;
}

// Half the distance from a power of two to the number just below it, relative to it.
constexpr double kMargin = 0x1p-25;

// Whether the float32 product of n * q / p with s, which should be n, never rounds below n. A number just below a power
// of two is 2^-24 of it away, so half of that is the margin.
bool rounds_to_whole(Fraction f, float s) {
  double exact = static_cast<double>(f.num) / static_cast<double>(f.den);
  return (exact - static_cast<double>(s)) / exact <= kMargin;
}

Dim scaled_by_float(Dim size, float s) {
  if (!(s > 0) || !std::isfinite(s)) return {};
  if (auto n = size.constant()) {
    float product = static_cast<float>(*n) * s;
    return product < 0x1p62F ? Dim(static_cast<int64_t>(std::floor(product))) : Dim();
  }
  auto fraction = simplest_fraction(s);
  if (!fraction || !rounds_to_whole(*fraction, s)) return {};
  return dim::floor_div(size * fraction->num, fraction->den);
}

}  // namespace

Dim scaled_size(Dim size, const Element& scale) {
  if (size.is_unknown()) return {};
  if (auto value = scale.as_double()) return scaled_by_float(size, static_cast<float>(*value));
  if (!scale.is_exact()) return {};
  return floor(Element::ratio(size * scale.num(), scale.den())).as_dim();  // h * (p / h) is p
}

Element as_fraction(const Element& e) {
  if (e.is_exact() || e.is_unknown()) return e;
  float s = static_cast<float>(*e.as_double());
  if (!(s > 0) || !std::isfinite(s)) return {};
  auto fraction = simplest_fraction(s);
  if (!fraction) return {};
  double exact = static_cast<double>(fraction->num) / static_cast<double>(fraction->den);
  if (std::abs(exact - static_cast<double>(s)) / exact > kMargin) return {};
  return Element::ratio(fraction->num, fraction->den);
}

Dim rounded_share(Dim size, Dim wanted, Dim of) { return dim::floor_div(size * wanted * 2 + of, of * 2); }

}  // namespace thaw::ops
