// Whether a target takes a node that is to be written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/ops/target/target.h"

namespace thaw::ops {

// What is planned everywhere: what computes most of a model, what takes rows of a table, what makes one type another.
inline constexpr std::array<std::string_view, 3> kProducts{"MatMul", "Gemm", "Conv"};
inline constexpr std::string_view kRows = "Gather", kCast = "Cast";

// What is known of the node before it is written. Weights, scales and zero points are constants.
struct PlannedNode {
  std::string_view op;
  std::vector<ir::DataType> inputs;  // kUndefined: left out
  std::vector<ir::DataType> outputs = {};
  std::vector<std::pair<std::string_view, std::string>> attributes = {};  // those that tables speak of
  bool has_zeros = false;                                                 // its zero points may be others than 0
  std::string_view domain = {};
};

struct Taken {
  Support support = Support::kSupported;
  std::string why = {};  // a clause; empty where it is supported
};

// How far the target takes such a node at an opset of ai.onnx. kSupported where no table says what it takes.
Taken how_taken(const Target& target, const PlannedNode& node, int64_t opset);

// Whether the target has a table of kernels.
bool has_kernel_table(const Target& target);

}  // namespace thaw::ops
