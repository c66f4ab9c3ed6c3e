// Numbers for what values hold: values of one number are the same function of the inputs and weights, and rounded alike: ONNX Runtime
// makes codes along with what they are codes of where nothing else reads that, and not where something does, so that as many nodes
// have to read what a value is made of.
//
// Value numbering as compilers do it (Cocke and Schwartz 1970), over two models of which one was made of the other: what of a
// converted model is as it was.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>

#include "thaw/ir/graph/model.h"

namespace thaw::measuring {

class ValueNumbers {
 public:
  using Numbers = std::unordered_map<const ir::Value*, int>;
  static constexpr int kOther = -1;

  // Numbers the main graph of a model, on which others are then held: it stays as it is for as long. Random nodes count as equal
  // to themselves.
  explicit ValueNumbers(const ir::Model& model);

  // Of the model.
  int of(const ir::Value* value) const { return own_.at(value); }
  // Of another model's main graph; kOther for what the first does not compute.
  Numbers of(const ir::Model& other) const;

 private:
  // The number of a key; kOther for one that has none.
  using Find = std::function<int(const std::string& key)>;
  Numbers number(const ir::Graph& graph, const Find& find) const;
  int of_same_bytes(const ir::Tensor& tensor) const;

  std::unordered_map<std::string, int> numbers_;
  Numbers own_;
  // The model's weights by where their bytes lie: what shares them needs not be read.
  std::unordered_map<const std::byte*, const ir::Value*> by_location_;
};

}  // namespace thaw::measuring
