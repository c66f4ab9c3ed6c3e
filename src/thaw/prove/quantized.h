// Constants that were quantized, beside those that they were made of.
//
// What a quantized model computes are other numbers. It may be the same model but for its constants: with those of the origin in their
// places, the two are compared as any others are. What stands for what is found by the numbers alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

struct QuantizedConstant {
  std::string name;        // of the tensor that holds the quantized numbers
  std::string result;      // of the node that makes others of them, its first output
  std::string origin;      // the constant of the origin that it stands for, by the value that holds it
  bool is_turned = false;  // whose two axes stand the other way around
  double difference = 0;   // the largest, as a part of the origin's largest element

  bool operator==(const QuantizedConstant&) const = default;
};

struct WithoutQuantization {
  std::unique_ptr<ir::Model> model;
  std::vector<QuantizedConstant> constants;  // in whose places others stand
};

// A copy of the model in which each constant that DequantizeLinear, MatMulNBits or GatherBlockQuantized makes of others is the nearest one
// of `origin`: of the same sizes, or of two axes the other way around, and less than half as far away as it is long. Those of which none
// is near stay, and so does what makes quantized numbers of inputs.
WithoutQuantization with_constants_of(const ir::Model& quantized, const ir::Model& origin);

}  // namespace thaw::proving
