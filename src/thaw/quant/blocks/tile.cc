#include "thaw/quant/blocks/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thaw::quantizing::blocks {

float BlockFormat::largest() const {
  if (scale_type == ir::DataType::kFloat16) return 65504.0F;
  return scale_type == ir::DataType::kBfloat16 ? 0x1.fep127F : std::numeric_limits<float>::max();
}

CodeRange BlockFormat::codes_held(float scale, float zero) const {
  const auto most = static_cast<float>(levels());
  const float reach = std::min(largest() / std::abs(scale), 2 * most);
  return {std::clamp(std::ceil(zero - reach), 0.0F, most), std::clamp(std::floor(zero + reach), 0.0F, most)};
}

}  // namespace thaw::quantizing::blocks
