#include "thaw/quant/half/weight_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "thaw/ir/data/tensor_chunks.h"

namespace thaw::quantizing {
namespace {

constexpr size_t kChunkOfRange = size_t{1} << 18;  // elements, to a processor
constexpr size_t kBytesAtOnce = size_t{1} << 25;   // bytes

struct Limits {
  float most, least;  // what is above the one is infinite, what is at or below the other is 0
};

// Half a step above the largest number is what rounds to infinity; half of the least is what rounds to 0.
Limits limits_of(ir::DataType to) {
  if (to == ir::DataType::kFloat16) return {65520.0F, 0x1p-25F};
  return {0x1.FFp127F, 0x1p-134F};
}

void join(WeightRange& into, const WeightRange& other) {
  into.elements += other.elements;
  into.largest = std::max(into.largest, other.largest);
  into.too_large += other.too_large;
  into.vanish += other.vanish;
  into.infinite += other.infinite;
  into.nan += other.nan;
  into.negative += other.negative;
  into.positive += other.positive;
}

WeightRange range_of_chunk(const std::byte* bytes, size_t count, const Limits& limits) {
  WeightRange range;
  range.elements = count;
  float largest = 0;
  uint32_t odd = 0, vanish = 0, negative = 0, positive = 0;
  for (size_t i = 0; i < count; ++i) {
    float x = 0;
    std::memcpy(&x, bytes + i * sizeof(float), sizeof x);
    const float size = std::fabs(x);
    odd += !(size < limits.most);
    vanish += size <= limits.least && size > 0;
    negative += x < 0;
    positive += x > 0;
    largest = std::max(largest, size < limits.most ? size : 0);
  }
  range.vanish = vanish;
  range.negative = negative;
  range.positive = positive;
  range.largest = largest;
  for (size_t i = 0; odd > 0 && i < count; ++i) {
    float x = 0;
    std::memcpy(&x, bytes + i * sizeof(float), sizeof x);
    if (std::isnan(x)) {
      ++range.nan;
    } else if (std::isinf(x)) {
      ++range.infinite;
    } else if (std::fabs(x) >= limits.most) {
      ++range.too_large;
      range.largest = std::max(range.largest, static_cast<double>(std::fabs(x)));
    }
  }
  return range;
}

WeightRange range_of_bytes(std::span<const std::byte> bytes, const Limits& limits) {
  const size_t count = bytes.size() / sizeof(float), chunks = (count + kChunkOfRange - 1) / kChunkOfRange;
  return tbb::parallel_reduce(
      tbb::blocked_range<size_t>(0, chunks, 1), WeightRange{},
      [&](const tbb::blocked_range<size_t>& part, WeightRange range) {
        for (size_t chunk = part.begin(); chunk < part.end(); ++chunk) {
          const size_t first = chunk * kChunkOfRange, size = std::min(kChunkOfRange, count - first);
          const auto at = bytes.subspan(first * sizeof(float), size * sizeof(float));
          join(range, range_of_chunk(at.data(), size, limits));
        }
        return range;
      },
      [](WeightRange a, const WeightRange& b) {
        join(a, b);
        return a;
      });
}

}  // namespace

WeightRange range_of(const ir::Tensor& tensor, ir::DataType to) {
  const Limits limits = limits_of(to);
  WeightRange range;
  ir::for_chunks(tensor, kBytesAtOnce,
                 [&](std::span<const std::byte> chunk) { join(range, range_of_bytes(chunk, limits)); });
  return range;
}

}  // namespace thaw::quantizing
