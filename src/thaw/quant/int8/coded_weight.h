// Weights as 8-bit codes, made on their way into the file: what is kept of one is a scale for each channel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/quant/int8/affine.h"

namespace thaw::quantizing::int8 {

// The channels of a tensor: its positions along an axis, or one for all (-1).
struct Channels {
  int axis = -1;
  int64_t count = 1;
  int64_t inner = 1;  // elements that follow each other in one channel

  Channels(const std::vector<int64_t>& dims, int along);
  int64_t of(int64_t element) const { return element / inner % count; }
};

// A scale and zero point for each channel.
struct WeightScales {
  Codes codes;
  Channels channels;
  std::vector<Affine> affine;
};

// From the smallest and largest weight of each channel. `least`: what a channel's scale must be at least, for a bias in 32 bits
// to fit; may be empty. A channel of zeros has the least, or the scale 1. Reads the weight, a chunk at a time; throws
// thaw::Error (kInvalidFile) naming it where a number is NaN or infinite.
WeightScales weight_scales(const ir::Tensor& weight, int axis, const Codes& codes, bool symmetric,
                           const std::vector<double>& least = {});

// Codes of the weight, of its shape.
ir::Tensor coded(const ir::Tensor& weight, std::string name, WeightScales scales);

// The numbers of a tensor of float32, float16 or bfloat16 a chunk at a time, in order, with the position of the first.
void for_chunks(const ir::Tensor& weight, const std::function<void(int64_t first, std::span<const float>)>& each);

// float32 [channels], or a scalar where there is one for all; and the zero points alike.
ir::Tensor scale_tensor(const WeightScales& scales, std::string name);
ir::Tensor zero_point_tensor(const WeightScales& scales, std::string name);

}  // namespace thaw::quantizing::int8
