#include "thaw/ops/rule/element.h"

#include <cmath>

#include "thaw/dim/expr/scope.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Doubles hold every integer up to here exactly.
constexpr double kExactLimit = 9007199254740992.0;  // 2^53

// Whether d is known not to be negative.
bool non_negative(Dim d) {
  auto lower = dim::range_of(d).lower;
  return lower && *lower >= 0;
}

}  // namespace

Element Element::integer(Dim value) {
  Element e;
  if (value.is_unknown()) return e;
  e.kind_ = Kind::kInteger;
  e.num_ = value;
  return e;
}

Element Element::ratio(Dim num, Dim den) {
  Element e;
  if (num.is_unknown() || den.is_unknown() || den.is_constant(0)) return e;
  // One sign convention, so that equal ratios look equal more often: a constant denominator is positive.
  if (auto d = den.constant(); d && *d < 0) {
    num = -num;
    den = -den;
  }
  if (den.is_constant(1)) return integer(num);
  if (auto whole = dim::exact_div(num, den)) return integer(*whole);
  e.kind_ = Kind::kRatio;
  e.num_ = num;
  e.den_ = den;
  return e;
}

Element Element::real(double value) {
  if (std::isfinite(value) && value == std::floor(value) && std::abs(value) < kExactLimit)
    return integer(static_cast<int64_t>(value));
  // Halves, quarters, … of sizes stay exact, so that h * 0.5 has an expression.
  constexpr double kParts = 65536;
  double parts = value * kParts;
  if (std::isfinite(parts) && parts == std::floor(parts) && std::abs(parts) < kExactLimit)
    return ratio(static_cast<int64_t>(parts), static_cast<int64_t>(kParts));
  Element e;
  if (std::isnan(value)) return e;
  e.kind_ = Kind::kReal;
  e.real_ = value;
  return e;
}

std::optional<double> Element::as_double() const {
  switch (kind_) {
    case Kind::kReal:
      return real_;
    case Kind::kInteger:
      if (auto v = num_.constant()) return static_cast<double>(*v);
      return std::nullopt;
    case Kind::kRatio:
      if (auto n = num_.constant(), d = den_.constant(); n && d)
        return static_cast<double>(*n) / static_cast<double>(*d);
      return std::nullopt;
    case Kind::kUnknown:
      return std::nullopt;
  }
  return std::nullopt;
}

namespace {

template <typename Exact, typename Real>
Element combine(const Element& a, const Element& b, Exact exact, Real real) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (a.is_exact() && b.is_exact()) return exact();
  auto x = a.as_double(), y = b.as_double();
  return x && y ? Element::real(real(*x, *y)) : Element();
}

}  // namespace

Element operator+(const Element& a, const Element& b) {
  return combine(
      a, b,
      [&] {
        if (dim::same(a.den(), b.den())) return Element::ratio(a.num() + b.num(), a.den());
        return Element::ratio(a.num() * b.den() + b.num() * a.den(), a.den() * b.den());
      },
      [](double x, double y) { return x + y; });
}

Element operator-(const Element& a, const Element& b) {
  return combine(
      a, b,
      [&] {
        if (dim::same(a.den(), b.den())) return Element::ratio(a.num() - b.num(), a.den());
        return Element::ratio(a.num() * b.den() - b.num() * a.den(), a.den() * b.den());
      },
      [](double x, double y) { return x - y; });
}

Element operator*(const Element& a, const Element& b) {
  return combine(
      a, b, [&] { return Element::ratio(a.num() * b.num(), a.den() * b.den()); },
      [](double x, double y) { return x * y; });
}

Element operator/(const Element& a, const Element& b) {
  return combine(
      a, b, [&] { return Element::ratio(a.num() * b.den(), a.den() * b.num()); },
      [](double x, double y) { return x / y; });
}

Element floor(const Element& a) {
  if (a.is_exact()) return Element::integer(dim::floor_div(a.num(), a.den()));
  auto x = a.as_double();
  return x ? Element::real(std::floor(*x)) : Element();
}

Element ceil(const Element& a) {
  if (a.is_exact()) return Element::integer(dim::ceil_div(a.num(), a.den()));
  auto x = a.as_double();
  return x ? Element::real(std::ceil(*x)) : Element();
}

Element truncate(const Element& a) {
  if (a.is_exact()) {
    if (a.den().is_constant(1)) return a;
    if (non_negative(a.num()) && non_negative(a.den())) return floor(a);
    auto n = a.num().constant(), d = a.den().constant();
    return n && d ? Element::integer(*n / *d) : Element();
  }
  auto x = a.as_double();
  return x ? Element::real(std::trunc(*x)) : Element();
}

Element integer_div(const Element& a, const Element& b) {
  Dim num = a.as_dim(), den = b.as_dim();
  if (num.is_unknown() || den.is_unknown() || den.is_constant(0)) return {};
  return truncate(Element::ratio(num, den));
}

bool same(const Element& a, const Element& b) {
  if (a.is_exact() && b.is_exact()) return dim::same(a.num(), b.num()) && dim::same(a.den(), b.den());
  auto x = a.as_double(), y = b.as_double();
  return x && y && *x == *y;
}

}  // namespace thaw::ops
