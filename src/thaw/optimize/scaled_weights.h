// Weights of convolutions, each output channel times a number of its own.
#pragma once

#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::optimizing {

// How a weight's first two axes name output channels: by the first (Conv), or, where each input channel has a row of
// them, by the second and the group that the first stands in (ConvTranspose).
struct ChannelLayout {
  bool by_first_axis = true;
  int64_t groups = 1;
};

// Output channels of a weight of at least two axes.
int64_t num_channels(const ir::Tensor& weight, ChannelLayout layout);

// The weight scaled, of the same type: float32 or 16 bits. Its numbers are read when they are written or asked for.
ir::Tensor scaled(const ir::Tensor& weight, ChannelLayout layout, std::vector<float> scale);

}  // namespace thaw::optimizing
