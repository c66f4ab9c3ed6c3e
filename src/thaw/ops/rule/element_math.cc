#include "thaw/ops/rule/element_math.h"

#include <cmath>
#include <limits>

#include "thaw/dim/expr/scope.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

bool within(const Element& e, int64_t low, int64_t high) {
  auto v = e.as_int();
  return !v || (*v >= low && *v <= high);
}

bool positive(Dim d) {
  auto lower = dim::range_of(d).lower;
  return lower && *lower > 0;
}

// The smaller or larger of two exact elements over one positive denominator.
Element extreme(const Element& a, const Element& b, Dim (*pick)(Dim, Dim), double (*pick_real)(double, double)) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (a.is_exact() && b.is_exact()) {
    if (dim::same(a.den(), b.den()) && positive(a.den())) return Element::ratio(pick(a.num(), b.num()), a.den());
    if (positive(a.den()) && positive(b.den()))
      return Element::ratio(pick(a.num() * b.den(), b.num() * a.den()), a.den() * b.den());
  }
  auto x = a.as_double(), y = b.as_double();
  return x && y ? Element::real(pick_real(*x, *y)) : Element();
}

}  // namespace

Element fit(const Element& e, DataType dtype) {
  switch (dtype) {
    case DataType::kInt64:
    case DataType::kDouble:
      return e;
    case DataType::kBool:
      return within(e, 0, 1) ? e : Element();
    case DataType::kInt32:
      return within(e, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()) ? e : Element();
    case DataType::kUint32:
      return at_least(e, 0) && within(e, 0, std::numeric_limits<uint32_t>::max()) ? e : Element();
    case DataType::kUint64:
      return at_least(e, 0) ? e : Element();
    case DataType::kFloat:
      if (auto v = e.as_double()) return Element::real(static_cast<double>(static_cast<float>(*v)));
      return e;
    default:
      return {};
  }
}

Order compare(const Element& a, const Element& b) {
  Order o;
  if (a.is_unknown() || b.is_unknown()) return o;
  if (same(a, b)) {
    o.equal = o.at_most = o.at_least = true;
    return o;
  }
  auto from_sign = [&o](bool below, bool above) {
    o.less = o.at_most = below;
    o.greater = o.at_least = above;
    o.differ = below || above;
  };
  auto x = a.as_double(), y = b.as_double();
  if (x && y && !(a.as_int() && b.as_int())) {
    from_sign(*x<*y, *x> * y);
    return o;
  }
  if (!a.is_exact() || !b.is_exact()) return o;
  Dim difference = a.num() * b.den() - b.num() * a.den();
  if (!(a.den().is_constant(1) && b.den().is_constant(1)) && !(positive(a.den()) && positive(b.den()))) return o;
  if (difference.is_unknown()) return o;
  auto [lower, upper] = dim::range_of(difference);
  from_sign(upper && *upper < 0, lower && *lower > 0);
  o.at_most = upper && *upper <= 0;
  o.at_least = lower && *lower >= 0;
  return o;
}

Element minimum(const Element& a, const Element& b) {
  return extreme(a, b, dim::min, [](double x, double y) { return x < y ? x : y; });
}

Element maximum(const Element& a, const Element& b) {
  return extreme(a, b, dim::max, [](double x, double y) { return x > y ? x : y; });
}

Element absolute(const Element& a) {
  Element minus = Element::integer(0) - a;
  return at_least(a, 0) ? a : maximum(a, minus);
}

Element modulo(const Element& a, const Element& b) {
  Dim x = a.as_dim(), y = b.as_dim();
  if (x.is_known() && y.is_known()) return y.is_constant(0) ? Element() : Element::integer(dim::mod(x, y));
  auto u = a.as_double(), v = b.as_double();
  if (!u || !v || *v == 0) return {};
  return Element::real(*u - std::floor(*u / *v) * *v);
}

Element remainder(const Element& a, const Element& b) {
  if (a.as_dim().is_known() && b.as_dim().is_known()) return a - integer_div(a, b) * b;
  auto u = a.as_double(), v = b.as_double();
  return u && v && *v != 0 ? Element::real(std::fmod(*u, *v)) : Element();
}

bool at_least(const Element& e, int64_t bound) {
  if (auto v = e.as_double()) return *v >= static_cast<double>(bound);
  if (!e.is_exact() || !positive(e.den())) return false;
  auto lower = dim::range_of(e.num() - e.den() * Dim(bound)).lower;
  return lower && *lower >= 0;
}

}  // namespace thaw::ops
