// What nodes compute and move, as expressions of the inputs' sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/optimize.h"

namespace thaw::infer {

using thaw::MovedBytes;

// Of a tensor's elements; unknown where its type or a size is.
dim::Dim bytes_of(const ops::Fact& fact);

// Sizes to compare costs at: those that are given by name, 64 for each of the others.
dim::Assignment assumed_sizes(const dim::Scope& scope, const std::vector<std::pair<std::string, int64_t>>& sizes = {});

struct Cost {
  dim::Dim flops;  // ops/rule/cost.h
  dim::Dim bytes;  // of what is read, weights too, and written
};

// Of one node; unknown where sizes are, and the flops of what Thaw has no rule for. Graphs that it runs are not counted.
Cost cost_of(const ir::Node& node, const ir::Model& model, const Result& facts);

Cost operator*(const Cost& one, dim::Dim times);

// Of one node and of the graphs that it runs, as often as it runs them.
Cost cost_with_graphs(const ir::Node& node, const ir::Model& model, const Result& facts);

struct OperatorCost {
  std::string op;  // "MatMul", "com.microsoft.Attention"
  size_t nodes = 0;
  Cost cost = {0, 0};                           // of the nodes whose cost is known
  size_t without_flops = 0, without_bytes = 0;  // nodes whose cost is not
};

// Each operator of the model, and all of them; a subgraph's nodes cost as often as they are run (infer/rounds.h). Sums of more
// terms than the scope has place for are unknown.
struct ModelCost {
  std::vector<OperatorCost> operators;  // in the order in which they are met
  OperatorCost total;
};
ModelCost cost_of(const ir::Model& model, const Result& facts);

// At assumed_sizes.
MovedBytes bytes_moved(const ir::Model& model);

}  // namespace thaw::infer
