// For tests of shape rules: a model in ONNX's text syntax in, its outputs' dims as text out.
#pragma once

#include <string>
#include <vector>

namespace thaw::ops {

struct Inferred {
  std::vector<std::string> outputs;      // "[n, 8, ?]" an output; "?" when its rank is not known
  std::vector<std::string> obligations;  // "n == 3", "n ~ m" (broadcast), "c % 4", "3 <= h"
  std::vector<std::string> problems;
};

// Infers `graph (float[n, h] x) => (y) { y = Relu (x) }` with these imports of opsets.
Inferred infer_text(const std::string& graph, int opset = 17);

// The first output's dims.
std::string dims_of(const std::string& graph, int opset = 17);

}  // namespace thaw::ops
