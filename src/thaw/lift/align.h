// Aligning traces: which constants of one model differ between them.
#pragma once

#include <string>
#include <vector>

#include "thaw/lift/traces.h"

namespace thaw::lift {

// A constant that differs: the node of the first trace that reads it, and the constant in every trace.
struct Difference {
  ir::Node* node = nullptr;  // of the first trace
  int input = 0;
  std::vector<const ir::Tensor*> tensors;  // by trace
  const ir::Value* value = nullptr;        // in the first trace: a constant read at several places is one
};

struct Alignment {
  std::vector<Difference> differences;  // in the order of the nodes
  std::vector<std::string> unaligned;   // what differs and is no constant, a clause each
};

// Whether two tensors hold the same. Of large ones, which are weights, only some pages are compared.
bool same_tensor(const ir::Tensor& a, const ir::Tensor& b);

// Traces of the same operators in the same order align node by node. Throws thaw::Error where they do not: the amount
// of structure differs (a window or chunk each, unrolled).
Alignment align(const std::vector<Trace>& traces);

}  // namespace thaw::lift
