// Weights of convolutions and matrix products, each output channel times a number of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::optimizing {

// Which axis of a weight has the output channels.
struct ChannelLayout {
  enum Axis : uint8_t {
    kFirst,          // of Conv
    kSecondOfGroup,  // of ConvTranspose: each input channel has a row of those of its group
    kLast,           // of a matrix that is multiplied from the right
  };
  Axis axis = kFirst;
  int64_t groups = 1;
};

// Output channels of a weight of at least two axes.
int64_t num_channels(const ir::Tensor& weight, ChannelLayout layout);

// The weight scaled, of the same type: float32 or 16 bits. Its numbers are read when they are written or asked for.
ir::Tensor scaled(const ir::Tensor& weight, ChannelLayout layout, std::vector<float> scale);

}  // namespace thaw::optimizing
