// Rotary embeddings (Su et al., "RoFormer", 3.4.2) as exporters write them: x1 cos - x2 sin beside x2 cos + x1 sin, or
// x cos + (-x2, x1) sin.
#pragma once

#include <optional>
#include <string>

#include "thaw/optimize/rotary/halves.h"

namespace thaw::optimizing {

struct FoundRotary {
  ir::Value* root = nullptr;  // what it computes
  Shaped x;                   // [batch, heads, positions, width] or [batch, positions, heads, width]; of three axes
                              // without the batch
  Shaped cos, sin;            // half as wide as what is rotated, or, `doubled`, as wide
  bool doubled = false, interleaved = false, positions_first = false;
  int64_t heads = 1, rotary_dim = 0;  // elements of the width that are rotated: the first of them
};

// The rotary embedding that a node is the last of; nullopt, and why where it nearly is one.
std::optional<FoundRotary> find_rotary(const ir::Node& node, const infer::Inference& facts, EqualHalves& halves,
                                       std::string& why);

}  // namespace thaw::optimizing
