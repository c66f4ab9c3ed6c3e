// Which values differ from sample to sample, before anything is batched. Internal to batch/.
#pragma once

#include <span>
#include <unordered_set>

#include "thaw/core/budget.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::batching {

// Follows the samples from the values that they come in by: a node's outputs differ where it reads what differs, apart
// from operators that look at shapes only. Through the branches of an If, and around a Loop or Scan until nothing more
// is reached. May hold more than what differs, never less. A node is a visit each time that it is followed; throws
// thaw::Error where the budget is out.
class Dependence {
 public:
  Dependence(std::span<ir::Value* const> start, std::shared_ptr<Budget> budget)
      : budget_(std::move(budget)), values_(start.begin(), start.end()) {}
  void add(const ir::Value* value) { values_.insert(value); }
  bool contains(const ir::Value* value) const { return values_.contains(value); }
  void follow(const ir::Graph& graph);

 private:
  void follow(const ir::Node& node);
  void follow_loop(const ir::Node& node, const ir::Graph& body);
  bool reads(const ir::Node& node) const;
  bool reads(const ir::Graph& graph) const;
  std::shared_ptr<Budget> budget_;
  std::unordered_set<const ir::Value*> values_;
};

}  // namespace thaw::batching
