// Numbers for what values hold: values of one number are the same function of the inputs and weights, and rounded alike: ONNX Runtime
// makes codes along with what they are codes of where nothing else reads that, and not where something does, so that as many nodes
// have to read what a value is made of.
//
// Value numbering as compilers do it (Cocke and Schwartz 1970), over two models of which one was made of the other: what of a
// converted model is as it was.
#pragma once

#include <string>
#include <unordered_map>

#include "thaw/ir/graph/model.h"

namespace thaw::measuring {

class ValueNumbers {
 public:
  using Numbers = std::unordered_map<const ir::Value*, int>;
  static constexpr int kOther = -1;

  // Numbers the main graph of a model, on which others are then held. Random nodes count as equal to themselves.
  explicit ValueNumbers(const ir::Model& model);

  // Of the model.
  int of(const ir::Value* value) const { return own_.at(value); }
  // Of another model's main graph; kOther for what the first does not compute.
  Numbers of(const ir::Model& other) const;

 private:
  std::unordered_map<std::string, int> numbers_;
  Numbers own_;
};

}  // namespace thaw::measuring
