// A source whose numbers lie in mapped bytes already, in a type of fewer bits, and perhaps turned: a checkpoint's bfloat16 [out, in]
// that a model has as float32 [in, out]. Who reads numbers, and not bytes, takes them from there: on all processors, and without a copy
// of the tensor as it will be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/ir/data/types.h"

namespace thaw::ir {

class WidenedSource : public TensorSource {
 public:
  struct Narrow {
    std::vector<std::span<const std::byte>> parts;  // whole rows each, one part below the other
    DataType type = DataType::kUndefined;
    bool turned = false;  // the rows are the tensor's columns
  };
  // nullopt where what is made is not that.
  virtual std::optional<Narrow> narrow() const = 0;
};

}  // namespace thaw::ir
