#include "thaw/quant/int8/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thaw::quantizing::int8 {
namespace {

using ir::DataType;

// Smaller ones lose bits of their own, and dividing by them overflows.
constexpr double kLeastScale = std::numeric_limits<float>::min();

}  // namespace

Codes activation_codes(const Int8Options& options) {
  if (options.unsigned_activations) return {DataType::kUint8, options.symmetric_activations ? 1 : 0, 255};
  return {DataType::kInt8, options.symmetric_activations ? -127 : -128, 127};
}

Codes weight_codes(const Int8Options& options) {
  const int half = options.reduced_range ? 64 : 128, low = options.symmetric_weights ? half - 1 : half;
  if (options.unsigned_weights) return {DataType::kUint8, 128 - low, 128 + half - 1};
  return {DataType::kInt8, -low, half - 1};
}

Affine affine_of(Range range, const Codes& codes, bool symmetric) {
  const double lowest = std::min(range.lowest, 0.0), highest = std::max(range.highest, 0.0);
  const int middle = (codes.lowest + codes.highest + 1) / 2;
  if (symmetric) {
    const double scale = std::max(-lowest, highest) / (codes.highest - middle);
    return {scale > 0 ? static_cast<float>(std::max(scale, kLeastScale)) : 1.0F, middle};
  }
  if (lowest == highest) return {1, std::clamp(0, codes.lowest, codes.highest)};
  const double steps = codes.highest - codes.lowest;
  const double scale = std::max(highest / steps - lowest / steps, kLeastScale);
  const double zero = codes.lowest - lowest / scale;
  return {static_cast<float>(scale), std::clamp(static_cast<int>(std::nearbyint(zero)), codes.lowest, codes.highest)};
}

int code_of(float number, const Affine& affine, const Codes& codes) {
  const float code = std::nearbyint(number / affine.scale) + static_cast<float>(affine.zero);
  return static_cast<int>(std::clamp(code, static_cast<float>(codes.lowest), static_cast<float>(codes.highest)));
}

}  // namespace thaw::quantizing::int8
