#include "thaw/ops/rule/magnitude.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

// What comes in is ordinary between these, as powers of 2: a tenth, and 600.
constexpr double kSmall = -3.3, kLarge = 9.2;
// Of float16: its largest number, and the smallest that has all of its bits.
constexpr double kMost = 16, kLeast = -14;
// Of an exponential of what is ordinary: past all that any type has.
constexpr double kExponential = 1000;
// Of a norm's output: single numbers of many.
constexpr double kNormed = 4;

double at_large(const Growth& g) { return g.power * kLarge + g.exponential * kExponential + g.factor; }
double at_small(const Growth& g) { return g.power * kSmall - g.exponential * kExponential + g.factor; }

Growth times(const Growth& a, const Growth& b) {
  return {a.power + b.power, a.exponential + b.exponential, a.factor + b.factor};
}
Growth to_power(const Growth& g, double exponent) {
  return {g.power * exponent, g.exponential * exponent, g.factor * exponent};
}

// Two activations that differ are multiplied in every gate, and what comes of it is as large as they are.
double gated(double together, double a, double b) {
  return std::clamp(together, std::min({a, b, -1.0}), std::max({a, b, 1.0}));
}

Sign sign_of_product(Sign a, Sign b) {
  if (a == Sign::kAny || b == Sign::kAny) return Sign::kAny;
  return a == b ? Sign::kNotNegative : Sign::kNotPositive;
}
Sign sign_of_sum(Sign a, Sign b) { return a == b ? a : Sign::kAny; }
Sign negative(Sign sign) {
  if (sign == Sign::kAny) return sign;
  return sign == Sign::kNotNegative ? Sign::kNotPositive : Sign::kNotNegative;
}

Growth larger_where_large(const Growth& a, const Growth& b) { return at_large(a) >= at_large(b) ? a : b; }
Growth larger_where_small(const Growth& a, const Growth& b) { return at_small(a) >= at_small(b) ? a : b; }

// Of what is the one or the other.
Magnitude either(const Magnitude& a, const Magnitude& b) {
  return {.large = larger_where_large(a.large, b.large),
          .small = larger_where_small(a.small, b.small),
          .bound = std::max(a.bound, b.bound),
          .sign = sign_of_sum(a.sign, b.sign)};
}

Magnitude added(const Magnitude& a, const Magnitude& b) {
  Magnitude sum = either(a, b);
  const double more = std::max(a.bound, b.bound);
  sum.bound = std::isinf(more) ? more : more + std::log2(1 + std::exp2(std::min(a.bound, b.bound) - more));
  return sum;
}

Magnitude raised(const Magnitude& x, double exponent) {
  Magnitude power{.large = to_power(x.large, exponent), .small = to_power(x.small, exponent)};
  if (exponent > 0) power.bound = x.bound * exponent;
  const bool is_even = std::fmod(exponent, 2) == 0;
  power.sign = is_even || x.sign == Sign::kNotNegative ? Sign::kNotNegative : Sign::kAny;
  return power;
}

// `a` times `b` to the power of 1 or -1.
Magnitude multiplied(const Magnitude& a, const Magnitude& b, double exponent) {
  Magnitude product{.large = times(a.large, to_power(b.large, exponent)),
                    .small = times(a.small, to_power(b.small, exponent)),
                    .sign = sign_of_product(a.sign, b.sign)};
  if (exponent > 0) product.bound = a.bound + b.bound;
  if (!a.leaves_float16() && !b.leaves_float16()) {
    product.large.power = gated(product.large.power, a.large.power, b.large.power);
    product.small.power = gated(product.small.power, a.small.power, b.small.power);
  }
  return product;
}

Magnitude exponential_of(const Magnitude& exponent, double log_of_base) {
  // What a constant or a function with an end bounds may be so small that its exponential is too.
  const double most = std::exp2(std::min(exponent.bound, 64.0)) * std::abs(log_of_base);
  if (most <= kMost) return Magnitude::within(exponent.sign == Sign::kNotPositive ? 0 : most, Sign::kNotNegative);
  Magnitude result{.large = {.exponential = 1}, .small = {.exponential = 1}, .sign = Sign::kNotNegative};
  const Sign sign = log_of_base < 0 ? negative(exponent.sign) : exponent.sign;
  if (sign == Sign::kNotNegative) result.small = {};
  if (sign == Sign::kNotPositive) {
    result.large = {};
    result.bound = 0;
  }
  result.has_one = exponent.has_one;
  return result;
}

// Of numbers that are summed along axes: as many times as large where their signs are the same, else by the root of that.
Magnitude summed(Magnitude x, double log_count) {
  const double more = x.sign == Sign::kAny ? log_count / 2 : log_count;
  if (x.has_one) x.small = {.power = 0, .exponential = 0, .factor = 0};
  x.large.factor += more;
  x.small.factor += more;
  x.bound += log_count;
  x.has_one = false;
  x.exceeds = nullptr;
  return x;
}

bool is_read(const Operator* op, int i) {
  const Role role = op ? op->operands[i] : Role::kData;
  return role == Role::kData || role == Role::kWeight || role == Role::kBias || role == Role::kState;
}

Magnitude by_class(MagnitudeContext& n, const Operator* op) {
  if (!op) return Magnitude::ordinary();
  switch (op->op_class) {
    case OpClass::kElementwise:
    case OpClass::kMovement:
    case OpClass::kReduction:
      return magnitude_passed(n);
    default:
      return op->converts ? magnitude_passed(n) : Magnitude::ordinary();
  }
}

}  // namespace

Magnitude Magnitude::within(double bound, Sign sign) {
  return {.large = {.factor = bound}, .small = {.factor = bound}, .bound = bound, .sign = sign};
}

bool Magnitude::leaves_float16() const {
  if (std::min(bound, std::max(at_large(large), at_small(small))) > kMost) return true;
  const Growth a{large.power, 0, large.factor}, b{small.power, 0, small.factor};
  return std::min(at_large(a), at_small(b)) < kLeast;
}

Magnitude magnitude_of(MagnitudeContext& context) {
  const Operator* op = registry().find(context.node());
  return op && op->magnitude ? op->magnitude(context) : by_class(context, op);
}

Magnitude magnitude_passed(MagnitudeContext& n) {
  const Operator* op = registry().find(n.node());
  std::optional<Magnitude> all;
  int parts = 0;
  for (int i = 0; i < static_cast<int>(n.node().inputs().size()); ++i) {
    if (!n.node().input(i) || !is_read(op, i)) continue;
    all = ++parts == 1 ? n.input(i) : either(*all, n.input(i));
  }
  return all.value_or(Magnitude::ordinary());
}

Magnitude magnitude_of_sum(MagnitudeContext& n) {
  Magnitude sum = n.input(0);
  for (int i = 1; i < static_cast<int>(n.node().inputs().size()); ++i)
    if (n.node().input(i)) sum = added(sum, n.input(i));
  return sum;
}

Magnitude magnitude_of_difference(MagnitudeContext& n) {
  const Magnitude a = n.input(0);
  Magnitude b = n.input(1);
  const bool is_from_maximum = b.exceeds && b.exceeds == n.node().input(0);
  b.sign = negative(b.sign);
  Magnitude difference = added(a, b);
  if (is_from_maximum) {
    difference.sign = Sign::kNotPositive;
    difference.has_one = true;
  }
  return difference;
}

Magnitude magnitude_of_product(MagnitudeContext& n) {
  if (n.node().input(0) == n.node().input(1)) return raised(n.input(0), 2);
  return multiplied(n.input(0), n.input(1), 1);
}

Magnitude magnitude_of_quotient(MagnitudeContext& n) {
  Magnitude quotient = multiplied(n.input(0), n.input(1), -1);
  if (const auto divisor = n.number(1); divisor && *divisor != 0)
    quotient.bound = n.input(0).bound - std::log2(std::abs(*divisor));
  return quotient;
}

Magnitude magnitude_of_reciprocal(MagnitudeContext& n) { return raised(n.input(0), -1); }

Magnitude magnitude_of_root(MagnitudeContext& n) {
  Magnitude root = raised(n.input(0), 0.5);
  root.sign = Sign::kNotNegative;
  return root;
}

Magnitude magnitude_of_power(MagnitudeContext& n) {
  if (const auto exponent = n.number(1)) return raised(n.input(0), *exponent);
  const auto base = n.number(0);
  return exponential_of(n.input(1), base && *base > 0 ? std::log2(*base) : kLarge);
}

Magnitude magnitude_of_exponential(MagnitudeContext& n) { return exponential_of(n.input(0), std::numbers::log2e); }

Magnitude magnitude_of_both_exponentials(MagnitudeContext& n) {
  Magnitude x = n.input(0);
  x.sign = Sign::kNotNegative;
  return exponential_of(x, std::numbers::log2e);
}

Magnitude magnitude_of_logarithm(MagnitudeContext& n) {
  const Magnitude x = n.input(0);
  const bool has_exponential = x.large.exponential != 0 || x.small.exponential != 0;
  if (has_exponential) return {.large = {.power = 1}, .small = {.power = 1}};
  return {.large = {.factor = kNormed}, .small = {.factor = kNormed}};
}

Magnitude magnitude_negated(MagnitudeContext& n) {
  Magnitude x = n.input(0);
  x.sign = negative(x.sign);
  x.exceeds = nullptr;
  x.has_one = false;
  return x;
}

Magnitude magnitude_not_negative(MagnitudeContext& n) {
  Magnitude x = n.input(0);
  x.sign = Sign::kNotNegative;
  x.exceeds = nullptr;
  x.has_one = false;
  return x;
}

namespace {

Magnitude lesser(const Magnitude& a, const Magnitude& b) {
  if (a.sign != Sign::kNotNegative || b.sign != Sign::kNotNegative) return either(a, b);
  return {.large = at_large(a.large) <= at_large(b.large) ? a.large : b.large,
          .small = at_small(a.small) <= at_small(b.small) ? a.small : b.small,
          .bound = std::min(a.bound, b.bound),
          .sign = Sign::kNotNegative};
}

}  // namespace

Magnitude magnitude_of_lesser(MagnitudeContext& n) {
  Magnitude least = n.input(0);
  for (int i = 1; i < static_cast<int>(n.node().inputs().size()); ++i) least = lesser(least, n.input(i));
  return least;
}

Magnitude magnitude_between(MagnitudeContext& n) {
  // Limits are attributes before opset 11.
  constexpr std::array<std::string_view, 3> kLimits = {"", "min", "max"};
  const auto limit = [&](int i) -> std::optional<double> {
    if (n.node().input(i)) return n.number(i);
    if (const auto* set = n.node().attribute(kLimits[static_cast<size_t>(i)]))
      if (const auto* number = set->as<float>()) return *number;
    return std::nullopt;
  };
  const auto log_size = [](double number) { return number == 0 ? -kExponential : std::log2(std::abs(number)); };
  Magnitude x = n.input(0);
  const std::optional<double> low = limit(1), high = limit(2);
  if (low && *low > 0) x = either(x, Magnitude::within(log_size(*low), Sign::kNotNegative));
  if (low && *low >= 0) x.sign = Sign::kNotNegative;
  if (high && *high <= 0) x.sign = Sign::kNotPositive;
  const bool is_bounded = (low || x.sign == Sign::kNotNegative) && (high || x.sign == Sign::kNotPositive);
  if (!is_bounded) return x;
  const double bound = std::max(low ? log_size(*low) : -kExponential, high ? log_size(*high) : -kExponential);
  if (bound >= x.bound) return x;
  x.bound = bound;
  if (at_large(x.large) > bound) x.large = {.factor = bound};
  if (at_small(x.small) > bound) x.small = {.factor = bound};
  return x;
}

Magnitude magnitude_of_share(MagnitudeContext&) {
  Magnitude share = Magnitude::within(0, Sign::kNotNegative);
  share.small.exponential = 1;
  return share;
}

Magnitude magnitude_within_one(MagnitudeContext&) { return Magnitude::within(0); }

Magnitude magnitude_of_norm(MagnitudeContext&) { return {.large = {.factor = kNormed}, .small = {.factor = kNormed}}; }

Magnitude magnitude_of_many(MagnitudeContext& n) { return summed(n.input(0), n.log_summed()); }

Magnitude magnitude_of_many_sizes(MagnitudeContext& n) { return summed(magnitude_not_negative(n), n.log_summed()); }

Magnitude magnitude_of_many_squares(MagnitudeContext& n) { return summed(raised(n.input(0), 2), n.log_summed()); }

Magnitude magnitude_of_length(MagnitudeContext& n) { return raised(magnitude_of_many_squares(n), 0.5); }

Magnitude magnitude_of_maximum(MagnitudeContext& n) {
  Magnitude most = n.input(0);
  most.exceeds = n.node().input(0);
  return most;
}

Magnitude magnitude_of_many_factors(MagnitudeContext& n) {
  if (n.input(0).bound <= 0) return n.input(0);
  return {.large = {.exponential = 1}, .small = {.exponential = 1}, .sign = n.input(0).sign};
}

Magnitude magnitude_of_layer(MagnitudeContext& n) {
  // Where an operand has left what is ordinary: a weighted sum of such where the other's numbers have one sign, as the
  // bands of a spectrum; else what was trained.
  const Operator* op = registry().find(n.node());
  const auto is_constant = [](const ir::Value* value) { return value->fixed_constant() != nullptr; };
  std::optional<Magnitude> product;
  std::vector<int> weights;
  bool has_left = false;
  for (int i = 0; i < static_cast<int>(n.node().inputs().size()); ++i) {
    const ir::Value* value = n.node().input(i);
    if (!value || !is_read(op, i) || op->operands[i] == Role::kBias) continue;
    if (is_constant(value)) {
      weights.push_back(i);
      continue;
    }
    const Magnitude operand = n.input(i);
    has_left = has_left || operand.leaves_float16();
    product = product ? multiplied(*product, operand, 1) : operand;
  }
  const bool is_sum = has_left && std::ranges::none_of(weights, [&](int i) { return n.input(i).sign == Sign::kAny; });
  if (!product || !is_sum) return Magnitude::ordinary();
  return *product;
}

}  // namespace thaw::ops
