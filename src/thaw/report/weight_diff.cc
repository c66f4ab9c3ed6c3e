#include "thaw/report/weight_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace thaw::report {
namespace {

constexpr size_t kBlock = size_t{1} << 20;  // bytes that are compared at once before they are looked at one by one

bool in_one_place(const WeightSide& a, const WeightSide& b) {
  const auto* x = a.tensor.external();
  const auto* y = b.tensor.external();
  if (!x || !y || x->offset != y->offset) return false;
  std::error_code error;
  return std::filesystem::equivalent(a.folder / x->location, b.folder / y->location, error) && !error;
}

template <typename T>
double distance(const std::byte* a, const std::byte* b) {
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  return std::abs(static_cast<double>(x) - static_cast<double>(y));
}

using Distance = double (*)(const std::byte*, const std::byte*);

// Null for types whose elements are only counted.
Distance distance_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::kFloat:
      return distance<float>;
    case ir::DataType::kDouble:
      return distance<double>;
    case ir::DataType::kInt8:
      return distance<int8_t>;
    case ir::DataType::kUint8:
      return distance<uint8_t>;
    case ir::DataType::kInt16:
      return distance<int16_t>;
    case ir::DataType::kUint16:
      return distance<uint16_t>;
    case ir::DataType::kInt32:
      return distance<int32_t>;
    case ir::DataType::kUint32:
      return distance<uint32_t>;
    case ir::DataType::kInt64:
      return distance<int64_t>;
    case ir::DataType::kUint64:
      return distance<uint64_t>;
    default:
      return nullptr;
  }
}

struct Tally {
  uint64_t different = 0;  // elements; bytes for types smaller than one
  double farthest = 0;
  bool has_nan = false;
};

// Elements that are not the same bytes; -0 and 0, and NaNs of other bits, count.
Tally tally(std::span<const std::byte> a, std::span<const std::byte> b, size_t width, Distance distance) {
  Tally result;
  for (size_t start = 0; start < a.size(); start += kBlock) {
    const size_t end = std::min(a.size(), start + kBlock);
    if (std::memcmp(a.data() + start, b.data() + start, end - start) == 0) continue;
    for (size_t i = start; i + width <= end; i += width) {
      if (std::memcmp(a.data() + i, b.data() + i, width) == 0) continue;
      ++result.different;
      if (distance == nullptr) continue;
      const double apart = distance(a.data() + i, b.data() + i);
      if (std::isnan(apart)) {
        result.has_nan = true;
      } else {
        result.farthest = std::max(result.farthest, apart);
      }
    }
  }
  return result;
}

std::vector<Difference> compare_strings(const ir::Tensor& a, const ir::Tensor& b) {
  const std::vector<std::string> x = a.to_strings();
  const std::vector<std::string> y = b.to_strings();
  size_t different = std::max(x.size(), y.size()) - std::min(x.size(), y.size());
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) different += x[i] != y[i];
  if (different == 0) return {};
  return {{.what = "values", .a = {}, .b = {}, .note = fmt::format("{} of {} elements differ", different, x.size())}};
}

std::vector<Difference> compare_values(const WeightSide& a, const WeightSide& b) {
  if (a.tensor.data_type == ir::DataType::kString) return compare_strings(a.tensor, b.tensor);
  if (in_one_place(a, b)) return {};
  const std::span<const std::byte> x = a.tensor.bytes();
  const std::span<const std::byte> y = b.tensor.bytes();
  const int bits = ir::bits_of(a.tensor.data_type);
  const size_t width = bits < 8 ? 1 : static_cast<size_t>(bits) / 8;
  if (x.size() != y.size()) {
    return {
        {.what = "values", .a = fmt::format("{} bytes", x.size()), .b = fmt::format("{} bytes", y.size()), .note = {}}};
  }
  const Distance distance = distance_of(a.tensor.data_type);
  const Tally found = tally(x, y, width, distance);
  if (found.different == 0) return {};
  std::string text =
      fmt::format("{} of {} {} differ", found.different, x.size() / width, bits < 8 ? "bytes" : "elements");
  if (distance != nullptr) text += fmt::format(", by at most {:.3g}{}", found.farthest, found.has_nan ? " or NaN" : "");
  return {{.what = "values", .a = {}, .b = {}, .note = text}};
}

}  // namespace

std::string describe(const ir::Tensor& tensor) {
  return fmt::format("{} [{}]", ir::name_of(tensor.data_type), fmt::join(tensor.dims, ", "));
}

std::vector<Difference> compare(const WeightSide& a, const WeightSide& b, bool values) {
  if (a.tensor.data_type != b.tensor.data_type || a.tensor.dims != b.tensor.dims) {
    return {{.what = "type", .a = describe(a.tensor), .b = describe(b.tensor), .note = {}}};
  }
  if (!values) return {};
  return compare_values(a, b);
}

}  // namespace thaw::report
