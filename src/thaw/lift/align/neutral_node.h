// Nodes that a size leaves out, as nodes that change nothing.
//
// An exporter writes a Pad, a Slice or a Resize only where a side asks for it: at a size that whole windows cover there is
// none. In such a trace it stands for one that pads by 0, cuts nothing, resizes to the size that is there. Two Reshapes in
// a row are one there; the first of them then joins the same axes as in the other trace. A product with a matrix of averages
// pools an axis to some cells; where it has as many entries, each is its own. A number that a tensor is divided by may be 1 at a
// size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

using Sizes = std::vector<int64_t>;
// As many elements; not where there are more than int64 counts.
bool hold_as_many(const Sizes& a, const Sizes& b);

// A node of a trace that another may lack. Its operands but one are constants.
struct OptionalNode {
  ir::Node* node = nullptr;
  int data = 0;   // which operand is none
  Sizes in, out;  // of its data and result
  // Which axes of its data each axis of its result joins, where it joins any: what reads the result of one that is left
  // out is a Reshape then, to which it is all the same.
  std::vector<int64_t> joins = {};
};

// nullopt where no constants make the node change nothing. sizes: of a value of its trace, as far as they are known.
std::optional<OptionalNode> optional_node(ir::Node& node,
                                          const std::function<std::optional<Sizes>(const ir::Value*)>& sizes_of);

// What the node's result is where it is left out, of data of these sizes; nullopt where that is not told.
std::optional<Sizes> neutral_sizes(const OptionalNode& node, const Sizes& data);

// Its copy that changes nothing, before a node of another trace's graph; the result.
ir::Value* put_neutral(const OptionalNode& like, ir::Value* data, const Sizes& sizes, ir::Graph& graph,
                       ir::Node* before);

// Gives the node's own constants the form that the copies have: bounds from the start, sizes for -1.
void spell_out(const OptionalNode& node, ir::Graph& graph);

}  // namespace thaw::lifting
