// Which node of one trace is which of another, where each may lack some of the other's.
//
// Both lists of nodes are walked in their order. A node is another's where both are of one operator and attributes and
// read the same; else it may be one that the other trace leaves out (neutral_node.h), and its data and result are one
// value there; or one that is written once there for two, as exporters do where two constants are equal at a size (a causal
// mask and one of a window that is as long as the text). What reads decides: a choice that does not go on is taken back.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "thaw/lift/align/neutral_node.h"

namespace thaw::lifting {

// Sides: 0 and 1. Values are numbered: the graphs' inputs in the order of the first, then the results of the pairs.
struct NodePair {
  ir::Node* node[2] = {nullptr, nullptr};         // one may be null: left out
  std::optional<OptionalNode> optional = {};      // the other, then
  std::optional<size_t> twin = {};                // or else the pair whose node stands for this one there too
  std::vector<std::optional<size_t>> reads = {};  // by operand, the value; none for constants and what is left out
  size_t first_result = 0;                        // the value of its first result
};

struct Pairing {
  std::vector<NodePair> nodes;
  std::vector<std::optional<size_t>> outputs;  // of the graphs, the value; none for what is a constant on both sides
};

struct PairSide {
  const ir::Graph* graph;
  std::vector<ir::Node*> nodes;
  std::function<std::optional<Sizes>(const ir::Value*)> sizes;
};

// nullopt where they do not correspond, or it takes too long to tell. Of the graphs that nodes hold, the operators count:
// what they read is aligned later.
std::optional<Pairing> pair_nodes(const PairSide& first, const PairSide& second);

}  // namespace thaw::lifting
