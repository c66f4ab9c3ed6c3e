// What multiplies and shifts each channel of a tensor by numbers of its own: BatchNormalization, and products and sums with
// constants.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/infer/inference.h"

namespace thaw::optimizing {

// (y - centre) * scale + shift, by channel; in float32 step by step, as ONNX Runtime fuses the same where it is left to.
struct Affine {
  std::vector<float> centre, scale, shift;
  bool shifts = false;
  uint64_t bytes = 0;  // of the constants that go with the node

  float operator()(std::optional<float> y, size_t i) const {
    return y ? (*y - centre[i]) * scale[i] + shift[i] : shift[i] - centre[i] * scale[i];
  }
};

// What `reader` does to `output`, whose axis 1 has that many channels; nullopt where it is another thing.
std::optional<Affine> affine_of(const ir::Node& reader, const ir::Value& output, int64_t channels,
                                const infer::Inference& facts);

// A constant that goes with the node that reads it; null for others.
const ir::Tensor* own_constant(const ir::Value* value);

// Types whose numbers float32 has.
bool is_narrow_float(ir::DataType type);

}  // namespace thaw::optimizing
