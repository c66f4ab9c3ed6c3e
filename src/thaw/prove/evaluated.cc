#include "thaw/prove/evaluated.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "thaw/core/error.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::proving {

using ir::DataType;

namespace {

constexpr double kRounding = 1 + 0x1p-10;  // of one: what float64 itself rounds is far less

// What a floating-point type holds.
struct Precision {
  int digits, lowest_exponent;
  double largest, smallest;  // the smallest above 0
};

Precision precision_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {11, -14, 65504, 0x1p-24};
    case DataType::kBfloat16:
      return {8, -126, 0x1.FEp127, 0x1p-133};
    case DataType::kDouble:
      return {53, -1022, std::numeric_limits<double>::max(), 0x1p-1074};
    default:
      return {24, -126, std::numeric_limits<float>::max(), 0x1p-149};
  }
}

// A number of the type that is known up to the error, or a result that no rounding changed.
KnownNumber result_of(DataType type, double value, double error, bool is_exact) {
  return is_exact && (std::isinf(value) || holds_number(type, value)) ? KnownNumber{0, value, 0}
                                                                      : rounded(type, value, error);
}

}  // namespace

bool KnownTensor::is_open() const { return std::ranges::any_of(elements, &KnownNumber::is_open); }

bool is_truth_or_integer(DataType type) {
  return type == DataType::kBool || (ir::is_integer(type) && ir::bits_of(type) >= 8);
}

bool holds_number(DataType type, double value) {
  if (value == 0) return true;
  const Precision of = precision_of(type);
  if (!std::isfinite(value) || std::fabs(value) > of.largest) return false;
  const int exponent = std::ilogb(value);
  if (exponent < of.lowest_exponent) return false;
  const double digits = std::scalbn(value, of.digits - 1 - exponent);
  return digits == std::nearbyint(digits);
}

KnownNumber rounded(DataType type, double value, double error, double roundings) {
  const Precision of = precision_of(type);
  if (!std::isfinite(value) || !std::isfinite(error) || std::fabs(value) > of.largest) return kOpenNumber;
  return {0, value, error + roundings * (kRounding * rounding_of(type) * std::fabs(value) + of.smallest)};
}

KnownNumber whole_number(DataType type, int64_t value) {
  const auto within = [&](int64_t low, int64_t high) {
    return value >= low && value <= high ? KnownNumber{value, 0, 0} : kOpenNumber;
  };
  switch (type) {
    case DataType::kBool:
      return within(0, 1);
    case DataType::kInt8:
      return within(INT8_MIN, INT8_MAX);
    case DataType::kInt16:
      return within(INT16_MIN, INT16_MAX);
    case DataType::kInt32:
      return within(INT32_MIN, INT32_MAX);
    case DataType::kUint8:
      return within(0, UINT8_MAX);
    case DataType::kUint16:
      return within(0, UINT16_MAX);
    case DataType::kUint32:
      return within(0, UINT32_MAX);
    case DataType::kUint64:
      return within(0, INT64_MAX);
    case DataType::kInt64:
      return within(INT64_MIN, INT64_MAX);
    default:
      return kOpenNumber;
  }
}

KnownNumber held_by_double(KnownNumber whole) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return whole.whole > kMost || whole.whole < -kMost ? kOpenNumber : whole;
}

KnownNumber added(DataType type, KnownNumber a, KnownNumber b) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  if (!is_real(type)) {
    int64_t sum = 0;
    return __builtin_add_overflow(a.whole, b.whole, &sum) ? kOpenNumber : whole_number(type, sum);
  }
  const double sum = a.real + b.real, other = sum - a.real;
  const bool is_exact =
      a.is_exact() && b.is_exact() && !std::isnan(sum) &&
      (std::isinf(sum) ? std::isinf(a.real) || std::isinf(b.real) : (a.real - (sum - other)) + (b.real - other) == 0);
  return result_of(type, sum, a.error + b.error, is_exact);
}

KnownNumber multiplied(DataType type, KnownNumber a, KnownNumber b) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  if (!is_real(type)) {
    int64_t product = 0;
    return __builtin_mul_overflow(a.whole, b.whole, &product) ? kOpenNumber : whole_number(type, product);
  }
  const double product = a.real * b.real;
  const bool is_held = std::isfinite(product) && (product != 0 || a.real == 0 || b.real == 0);
  const bool is_exact = a.is_exact() && b.is_exact() && is_held && std::fma(a.real, b.real, -product) == 0;
  return result_of(type, product, std::fabs(a.real) * b.error + std::fabs(b.real) * a.error + a.error * b.error,
                   is_exact);
}

KnownNumber divided(DataType type, KnownNumber a, KnownNumber b) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  if (!is_real(type)) {
    if (b.whole == 0 || (b.whole == -1 && a.whole == INT64_MIN)) return kOpenNumber;
    return whole_number(type, a.whole / b.whole);
  }
  const double least = std::fabs(b.real) - b.error, quotient = a.real / b.real;
  if (!(least > 0) || !std::isfinite(quotient)) return kOpenNumber;
  const bool is_exact =
      a.is_exact() && b.is_exact() && (quotient != 0 || a.real == 0) && std::fma(quotient, b.real, -a.real) == 0;
  return result_of(type, quotient, (a.error + std::fabs(quotient) * b.error) / least, is_exact);
}

KnownNumber extremum(DataType type, KnownNumber a, KnownNumber b, bool is_largest) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  if (!is_real(type)) return {is_largest ? std::max(a.whole, b.whole) : std::min(a.whole, b.whole), 0, 0};
  // Of two that lie apart it is the one, however far rounding moved it.
  if (std::fabs(a.real - b.real) > a.error + b.error) return (a.real > b.real) == is_largest ? a : b;
  return {0, is_largest ? std::max(a.real, b.real) : std::min(a.real, b.real), std::max(a.error, b.error)};
}

KnownNumber sum_of(DataType type, std::span<const KnownNumber> numbers) {
  KnownNumber whole{};
  double value = 0, error = 0, magnitude = 0;
  bool is_exact = true;
  for (const KnownNumber& one : numbers) {
    if (one.is_open()) return kOpenNumber;
    if (!is_real(type)) {
      // No partial sum in any order leaves the type where that of the sizes does not.
      int64_t sum = 0;
      if (one.whole == INT64_MIN || __builtin_add_overflow(whole.whole, std::abs(one.whole), &sum)) return kOpenNumber;
      whole = whole_number(type, sum);
      if (whole.is_open() || held_by_double(whole).is_open()) return kOpenNumber;
      value += static_cast<double>(one.whole);
      continue;
    }
    value += one.real;
    error += one.error;
    magnitude += std::fabs(one.real);
    is_exact = is_exact && one.is_exact() && one.real == std::nearbyint(one.real);
  }
  if (!is_real(type)) {
    int64_t sum = 0;
    for (const KnownNumber& one : numbers) sum += one.whole;
    return whole_number(type, sum);
  }
  if (is_exact && magnitude <= 1 / rounding_of(type)) return {0, value, 0};
  const auto count = static_cast<double>(numbers.size());
  return rounded(type, value, error + count * rounding_of(type) * magnitude);
}

std::optional<std::vector<int64_t>> integers_of(const KnownTensor* tensor) {
  if (!tensor || !is_truth_or_integer(tensor->type) || tensor->is_open()) return std::nullopt;
  std::vector<int64_t> values;
  for (const KnownNumber& one : tensor->elements) values.push_back(one.whole);
  return values;
}

std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

std::optional<int64_t> count_of_result(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && count > kMostEvaluated / d)) return std::nullopt;
    count *= d;
  }
  return count;
}

std::optional<std::vector<int64_t>> broadcast_dims(std::span<const KnownTensor* const> operands) {
  std::vector<int64_t> dims;
  for (const KnownTensor* one : operands) {
    if (one->dims.size() > dims.size()) dims.insert(dims.begin(), one->dims.size() - dims.size(), 1);
    const size_t missing = dims.size() - one->dims.size();
    for (size_t k = 0; k < one->dims.size(); ++k) {
      int64_t& size = dims[missing + k];
      if (size != one->dims[k] && size != 1 && one->dims[k] != 1) return std::nullopt;
      if (size == 1) size = one->dims[k];
    }
  }
  return count_of_result(dims) ? std::optional(dims) : std::nullopt;
}

std::vector<int64_t> broadcast_offsets(std::span<const int64_t> from, std::span<const int64_t> dims) {
  const std::vector<int64_t> own = ops::strides_of(from);
  std::vector<int64_t> steps(dims.size(), 0);
  const size_t missing = dims.size() - from.size();
  for (size_t k = 0; k < from.size(); ++k)
    if (from[k] != 1) steps[missing + k] = own[k];
  return offsets(dims, steps, 0);
}

std::optional<KnownTensor> known_tensor(const ir::Tensor& tensor) {
  const DataType type = tensor.data_type;
  if ((!is_real(type) && !is_truth_or_integer(type)) || !count_of_result(tensor.dims)) return std::nullopt;
  KnownTensor made{type, tensor.dims, {}};
  try {
    if (is_real(type)) {
      for (const double v : tensor.to_double())
        made.elements.push_back(std::isnan(v) ? kOpenNumber : KnownNumber{0, v, 0});
    } else {
      for (const int64_t v : tensor.to_int64()) made.elements.push_back({v, 0, 0});
    }
  } catch (const Error&) {
    return std::nullopt;  // data that is missing, or more than int64 holds
  }
  return made;
}

std::optional<KnownTensor> known_tensor(const Term& term) {
  if (term.kind != Term::Kind::kSizes || !is_truth_or_integer(term.dtype)) return std::nullopt;
  KnownTensor made{term.dtype, term.ints, {}};
  for (const dim::Dim d : term.dims) {
    const auto value = d.constant();
    if (!value) return std::nullopt;
    made.elements.push_back(whole_number(term.dtype, *value));
  }
  return made;
}

namespace {

ir::Tensor tensor_of_integers(const KnownTensor& tensor) {
  const size_t width = static_cast<size_t>(ir::bits_of(tensor.type)) / 8;
  std::vector<std::byte> bytes(tensor.elements.size() * width);
  for (size_t i = 0; i < tensor.elements.size(); ++i)
    std::memcpy(bytes.data() + i * width, &tensor.elements[i].whole, width);  // the lowest bytes come first
  return ir::Tensor::from_bytes({}, tensor.type, tensor.dims, std::move(bytes));
}

ir::Tensor tensor_of_reals(const KnownTensor& tensor) {
  const size_t width = static_cast<size_t>(ir::bits_of(tensor.type)) / 8;
  std::vector<std::byte> bytes(tensor.elements.size() * width);
  if (tensor.type == DataType::kDouble) {
    for (size_t i = 0; i < tensor.elements.size(); ++i)
      std::memcpy(bytes.data() + i * width, &tensor.elements[i].real, width);
  } else {
    std::vector<float> values;
    for (const KnownNumber& one : tensor.elements) values.push_back(static_cast<float>(one.real));
    ir::from_floats(values, tensor.type, bytes.data());
  }
  return ir::Tensor::from_bytes({}, tensor.type, tensor.dims, std::move(bytes));
}

// Most elements are as many roundings apart as the others; those that more was added up to say so by their magnitude.
Numbers numbers_of(const KnownTensor& tensor) {
  constexpr double kMostRoundings = 16;
  const double unit = rounding_of(tensor.type);
  double roundings = 1;
  for (const KnownNumber& one : tensor.elements)
    if (one.error > 0 && one.real != 0) roundings = std::max(roundings, one.error / (unit * std::fabs(one.real)));
  Numbers made{tensor.dims, {}, {}, static_cast<int>(std::ceil(std::min(roundings, kMostRoundings)))};
  for (const KnownNumber& one : tensor.elements) {
    made.values.push_back(one.real);
    made.magnitude.push_back(std::max(std::fabs(one.real), one.error / (unit * made.roundings)));
  }
  return made;
}

}  // namespace

std::optional<TermId> written(Algebra& algebra, const KnownTensor& tensor) {
  if (tensor.is_open()) return std::nullopt;
  if (!is_real(tensor.type)) {
    const ir::Tensor made = tensor_of_integers(tensor);
    const auto elements = ops::small_elements(made);
    if (!elements) return algebra.constants.read(made);
    std::vector<dim::Dim> dims;
    for (const ops::Element& one : *elements) dims.push_back(one.as_dim());
    const bool are_known = std::ranges::all_of(dims, [](dim::Dim d) { return d.is_known(); });
    return are_known ? algebra.constants.sizes(tensor.type, tensor.dims, std::move(dims))
                     : algebra.constants.read(made);
  }
  if (std::ranges::all_of(tensor.elements, &KnownNumber::is_exact))
    return algebra.constants.read(tensor_of_reals(tensor));
  // What is known too little may be many others.
  const double unit = rounding_of(tensor.type), most = std::max(8 * unit, std::min(4096 * unit, 0x1p-12));
  double largest = 0;
  for (const KnownNumber& one : tensor.elements) largest = std::max(largest, std::fabs(one.real));
  const bool is_near = std::ranges::all_of(
      tensor.elements, [&](const KnownNumber& one) { return std::isfinite(one.real) && one.error <= most * largest; });
  if (!is_near) return std::nullopt;
  return algebra.arithmetic.constant(numbers_of(tensor), tensor.type);
}

std::vector<KnownTensor> evaluated(const NodeOfConstants& of) {
  if (!of.node.domain().empty() || of.operands.empty() || !of.operands[0]) return {};
  for (const auto evaluate : {evaluated_each, evaluated_moves, evaluated_along_axes, evaluated_resize})
    if (auto made = evaluate(of); !made.empty()) return made;
  return {};
}

}  // namespace thaw::proving
