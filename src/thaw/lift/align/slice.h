// Slices of a tensor along an axis: the outputs of Split, and Slices with constant ends; and what joins them.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

struct Slice {
  ir::Node* node = nullptr;  // Split or Slice
  int64_t axis = 0;          // as the node says, perhaps negative
  int64_t begin = 0, end = 0;
  const ir::Value* whole() const { return node->input(0); }
  int64_t length() const { return end - begin; }
  size_t axis_of(size_t rank) const;  // counted from the first
};

// The ends of a Slice along one axis by steps of 1 as they are written: perhaps negative, or past what there is. nullopt for
// other Slices, and where they are computed.
std::optional<Slice> written_slice(ir::Node& node);

// nullopt for what is no slice, or not of constant length.
std::optional<Slice> slice_of(const ir::Value& value);

// Whether a node joins its operands along an axis, or along this one, counted from the first.
bool joins_pieces(const ir::Node& node);
bool joins_along(const ir::Node& node, size_t axis, size_t rank);

// Whether input i of a node that cuts slices says where it cuts.
bool gives_bounds(const ir::Node& cut, int input);

}  // namespace thaw::lifting
