// What must hold of sizes for a node to run.
#pragma once

#include <cstdint>
#include <string_view>

#include "thaw/dim/expr/dim.h"
#include "thaw/dim/expr/proof.h"

namespace thaw::ir {
class Node;
}

namespace thaw::ops {

struct Obligation {
  const ir::Node* node = nullptr;
  dim::Relation kind = dim::Relation::kEqual;
  dim::Dim a, b;
  std::string_view what;          // of static storage: "MatMul's inner dims", "elements of a Reshape"
  int input_a = -1, axis_a = -1;  // which input and axis `a` (`b`) was read from, where it was; else -1
  int input_b = -1, axis_b = -1;
  // The specification asks for it; ONNX Runtime runs without.
  bool only_specified = false;
  // It is about numbers that the operand `input_a` holds, not about sizes alone: where a side is unknown, nothing is known of them.
  bool of_values = false;
  // That it holds is enough for the node to run; that it does not says nothing.
  bool is_enough = false;
};

}  // namespace thaw::ops
