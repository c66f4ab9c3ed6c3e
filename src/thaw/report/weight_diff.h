// Comparing two constant tensors, element by element where that has to be.
#pragma once

#include <filesystem>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/report/model_diff.h"

namespace thaw::report {

struct WeightSide {
  const ir::Tensor& tensor;
  std::filesystem::path folder;  // of the model, for external data
};

// "float32 [64, 3, 7, 7]".
std::string describe(const ir::Tensor& tensor);

// What differs: "type", and, when the types are equal and `values` is asked for, "values": how many elements, and the
// largest distance for floats and integers. Data at the same offset of the same file is not read. Throws
// thaw::Error where the data cannot be had.
std::vector<Difference> compare(const WeightSide& a, const WeightSide& b, bool values);

}  // namespace thaw::report
