// A result as it will be written, loaded and run as users do: by ONNX Runtime at its defaults. Where a check runs an imitation of
// it, this is what tells whether the file itself is taken.
#pragma once

#include <string>

#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

struct AsWritten {
  std::string failure;  // what ONNX Runtime says of it where it takes the original: nothing that should be written
  std::string
      not_loaded;  // why it could not be tried: no kernels, no runtime, no memory, a model that was refused before
  bool lacks_kernels = false;  // that is why
};

// Whether loading it takes less than a second or so.
bool loads_quickly(const ir::Model& model);

// Loads `written`, and runs it on `fed` (by input, of the types that it takes) where that is given. What is wrong with a weight,
// which may be made only now, is thrown.
AsWritten try_as_written(const ir::Model& written, const ir::Model& original, const Arrays* fed);

}  // namespace thaw::confirm
