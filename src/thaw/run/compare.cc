#include "thaw/run/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/run/elements.h"

namespace thaw::run {
namespace {

using ir::DataType;

constexpr int64_t kComparedAtOnce = 8192;

struct Bounds {
  double absolute, relative;
};

Bounds default_bounds(DataType type) {
  if (!ir::is_floating(type)) return {0, 0};
  const int bits = ir::bits_of(type);
  if (bits >= 32) return {1e-4, 1e-3};
  return bits == 16 ? Bounds{1e-2, 1e-2} : Bounds{0.1, 0.1};
}

Bounds bounds_of(DataType actual, DataType expected, const Tolerance& tolerance) {
  // Between integers no difference is tolerated, whatever is set.
  if (!ir::is_floating(actual) && !ir::is_floating(expected)) return {0, 0};
  const Bounds a = default_bounds(actual), b = default_bounds(expected);
  Bounds bounds{std::max(a.absolute, b.absolute), std::max(a.relative, b.relative)};
  if (tolerance.cosine && !tolerance.absolute && !tolerance.relative) {
    bounds = {std::numeric_limits<double>::infinity(), 0};
  }
  if (tolerance.absolute) bounds.absolute = *tolerance.absolute;
  if (tolerance.relative) bounds.relative = *tolerance.relative;
  return bounds;
}

std::vector<int64_t> unravel(int64_t at, const std::vector<int64_t>& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = at % dims[axis];
    at /= dims[axis];
  }
  return index;
}

// Sums of one comparison, fed chunk by chunk.
class Totals {
 public:
  explicit Totals(Bounds bounds) : bounds_(bounds) {}

  void add(double actual, double expected, int64_t at) {
    if (!std::isfinite(actual) || !std::isfinite(expected)) {
      const bool same = (std::isnan(actual) && std::isnan(expected)) || actual == expected;
      if (same) return;
      ++not_finite;
      outside_at(std::numeric_limits<double>::infinity(), at, actual, expected);
      return;
    }
    const double difference = std::fabs(actual - expected);
    const double size = std::fabs(expected);
    dot_ += actual * expected;
    actual_norm_ += actual * actual;
    expected_norm_ += expected * expected;
    if (difference == 0) return;
    max_abs_diff = std::max(max_abs_diff, difference);
    if (size > 0)
      max_rel_diff = std::max(max_rel_diff, std::min(difference / size, std::numeric_limits<double>::max()));
    const double excess = difference - (bounds_.absolute + bounds_.relative * size);
    if (excess > 0) {
      outside_at(excess, at, actual, expected);
    } else if (outside == 0 && difference > worst_difference_) {
      worst_difference_ = difference;
      worst_at = at;
      worst_actual = actual;
      worst_expected = expected;
    }
  }

  double cosine() const {
    if (actual_norm_ == 0 || expected_norm_ == 0) return actual_norm_ == expected_norm_ ? 1 : 0;
    if (max_abs_diff == 0) return 1;  // rounding must not say otherwise
    // Two roots: the product of the norms may overflow or vanish where they do not.
    const double cosine = dot_ / (std::sqrt(actual_norm_) * std::sqrt(expected_norm_));
    return std::isfinite(cosine) ? std::clamp(cosine, -1.0, 1.0) : 0;
  }

  int64_t outside = 0, not_finite = 0, worst_at = -1;
  double max_abs_diff = 0, max_rel_diff = 0, worst_actual = 0, worst_expected = 0;

 private:
  void outside_at(double excess, int64_t at, double actual, double expected) {
    ++outside;
    if (outside > 1 && excess <= worst_excess_) return;
    worst_excess_ = excess;
    worst_at = at;
    worst_actual = actual;
    worst_expected = expected;
  }
  Bounds bounds_;
  double dot_ = 0, actual_norm_ = 0, expected_norm_ = 0, worst_difference_ = 0, worst_excess_ = 0;
};

// Complex numbers as pairs of parts.
DataType part_type(DataType type) {
  if (type == DataType::kComplex64) return DataType::kFloat;
  return type == DataType::kComplex128 ? DataType::kDouble : type;
}

void compare_strings(const Array& actual, const Array& expected, Comparison& result) {
  for (size_t i = 0; i < actual.strings.size(); ++i) {
    if (actual.strings[i] == expected.strings[i]) continue;
    if (result.outside_tolerance++ == 0) result.worst_index = unravel(static_cast<int64_t>(i), actual.dims);
  }
  result.cosine = result.outside_tolerance == 0 ? 1 : 0;
  result.agrees = result.outside_tolerance == 0;
  if (!result.agrees) result.reason = fmt::format("{} of {} strings differ", result.outside_tolerance, result.elements);
}

// 64-bit integers do not fit into double: their equality is that of their bytes.
void compare_integers(const Array& actual, const Array& expected, Totals& totals) {
  std::array<int64_t, kComparedAtOnce> a, b;
  const int64_t count = actual.num_elements();
  for (int64_t at = 0; at < count; at += kComparedAtOnce) {
    const auto length = static_cast<size_t>(std::min(kComparedAtOnce, count - at));
    decode(actual.dtype, actual.bytes.data(), at, std::span(a).first(length));
    decode(expected.dtype, expected.bytes.data(), at, std::span(b).first(length));
    for (size_t i = 0; i < length; ++i) {
      auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      if (a[i] != b[i] && x == y) x = std::nextafter(y, a[i] > b[i] ? HUGE_VAL : -HUGE_VAL);
      totals.add(x, y, at + static_cast<int64_t>(i));
    }
  }
}

void compare_floats(const Array& actual, const Array& expected, Totals& totals) {
  std::array<double, kComparedAtOnce> a, b;
  const DataType actual_type = part_type(actual.dtype), expected_type = part_type(expected.dtype);
  const int64_t parts = is_complex(actual.dtype) ? 2 : 1;
  const int64_t count = actual.num_elements() * parts;
  for (int64_t at = 0; at < count; at += kComparedAtOnce) {
    const auto length = static_cast<size_t>(std::min(kComparedAtOnce, count - at));
    decode(actual_type, actual.bytes.data(), at, std::span(a).first(length));
    decode(expected_type, expected.bytes.data(), at, std::span(b).first(length));
    for (size_t i = 0; i < length; ++i) totals.add(a[i], b[i], (at + static_cast<int64_t>(i)) / parts);
  }
}

std::string explain(const Totals& totals, const Comparison& result, Bounds bounds, bool exact) {
  if (totals.outside > 0) {
    const bool by_cosine = std::isinf(bounds.absolute);  // of elements those alone differ that are not finite
    std::string text = exact || by_cosine
                           ? fmt::format("{} of {} elements differ", totals.outside, result.elements)
                           : fmt::format("{} of {} elements differ by more than {:g} + {:g} of the reference",
                                         totals.outside, result.elements, bounds.absolute, bounds.relative);
    if (totals.not_finite > 0) text += fmt::format("; {} are NaN or infinite on one side", totals.not_finite);
    text += fmt::format("; worst at [{}]: {:g}, expected {:g}", fmt::join(result.worst_index, ","), totals.worst_actual,
                        totals.worst_expected);
    return text;
  }
  return {};
}

Comparison compare_arrays(const Array& actual, const Array& expected, const Tolerance& tolerance, bool cast) {
  Comparison result;
  if (actual.dims != expected.dims) {
    result.reason = "is " + describe(actual) + ", expected " + describe(expected);
    return result;
  }
  const bool both_numbers =
      !actual.is_string() && !expected.is_string() && is_complex(actual.dtype) == is_complex(expected.dtype);
  if (actual.dtype != expected.dtype && !(cast && both_numbers)) {
    result.reason = "is " + describe(actual) + ", expected " + describe(expected);
    if (both_numbers) result.reason += "; --cast compares them as numbers";
    return result;
  }
  result.comparable = true;
  result.elements = actual.num_elements();
  if (actual.is_string()) {
    compare_strings(actual, expected, result);
    return result;
  }
  const Bounds bounds = bounds_of(part_type(actual.dtype), part_type(expected.dtype), tolerance);
  const auto whole = [](DataType type) { return ir::is_integer(type) || type == DataType::kBool; };
  const bool exact = whole(actual.dtype) && whole(expected.dtype);
  Totals totals(bounds);
  if (exact) {
    compare_integers(actual, expected, totals);
  } else {
    compare_floats(actual, expected, totals);
  }
  result.outside_tolerance = totals.outside;
  result.not_finite = totals.not_finite;
  result.max_abs_diff = totals.max_abs_diff;
  result.max_rel_diff = totals.max_rel_diff;
  result.cosine = totals.cosine();
  if (totals.worst_at >= 0) result.worst_index = unravel(totals.worst_at, actual.dims);
  result.worst_actual = totals.worst_actual;
  result.worst_expected = totals.worst_expected;
  result.reason = explain(totals, result, bounds, exact);
  if (result.reason.empty() && !exact && tolerance.cosine && result.cosine < *tolerance.cosine) {
    result.reason =
        fmt::format("its cosine with the reference is {:.6g}, below {:g}", result.cosine, *tolerance.cosine);
  }
  result.agrees = result.reason.empty();
  return result;
}

void require_bytes(const Array& array) {
  const int64_t count = array.num_elements();
  const uint64_t given = array.is_string() ? array.strings.size() : array.bytes.size();
  const uint64_t needed = array.is_string() ? static_cast<uint64_t>(count) : packed_bytes(array.dtype, count);
  if (given == needed) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("has {} {}", given, array.is_string() ? "strings" : "bytes"),
               .where = "an array that is compared, " + describe(array),
               .expected = fmt::format("{} for its type and dims", needed),
               .next = "make it with Array::zeros(), and fill it"});
}

}  // namespace

void require_tolerance(const Tolerance& tolerance) {
  const auto require = [](const std::optional<double>& bound, const char* name, double lowest, double highest,
                          const char* expected) {
    if (!bound || (*bound >= lowest && *bound <= highest)) return;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} is {}", name, *bound), .where = "the tolerance", .expected = expected});
  };
  constexpr double kAny = std::numeric_limits<double>::infinity();
  require(tolerance.absolute, "--atol", 0, kAny, "0 or more");
  require(tolerance.relative, "--rtol", 0, kAny, "0 or more");
  require(tolerance.cosine, "--cosine", -1, 1, "a cosine, from -1 to 1");
}

}  // namespace thaw::run

namespace thaw {

Comparison compare(const Array& actual, const Array& expected, const Tolerance& tolerance, bool cast) {
  run::require_tolerance(tolerance);
  run::require_bytes(actual);
  run::require_bytes(expected);
  return run::compare_arrays(actual, expected, tolerance, cast);
}

}  // namespace thaw
