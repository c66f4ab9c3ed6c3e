// The Context that the engine hands to a rule. Internal to infer/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/engine.h"
#include "thaw/ops/rule/context.h"

namespace thaw::infer {

class NodeContext final : public ops::Context {
 public:
  NodeContext(Engine& engine, const ir::Node& node, int64_t opset, Frame& frame, std::vector<ops::Fact>& outputs);

  const ops::Fact& input(int i) const override;
  const ops::Fact& output(int i) const override { return outputs_[static_cast<size_t>(i)]; }
  const ops::Elements* elements(int i) override;
  const ir::Tensor* constant(int i) const override;
  void set_output(int i, ops::Fact fact) override;
  void set_elements(int i, ops::Elements elements) override;
  const ir::Attribute* attribute(std::string_view name) const override;
  dim::Dim require_equal(dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b) override;
  dim::Dim require_broadcast(dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b) override;
  void require_divisible(dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b) override;
  void require_at_most(dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b) override;
  void specify_at_most(dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b) override;
  void imply_at_least(dim::Dim d, int64_t bound) override;
  bool holds_at_least(dim::Dim d, int64_t bound) const override;
  bool wants_values() const override { return engine_.options().states_values; }
  std::optional<ops::ValueRange> range(int i) override;
  void set_range(int i, const ops::ValueRange& range) override;
  void require_of_values(dim::Dim a, dim::Dim b, std::string_view what, int input, bool is_enough) override;
  bool wants_sizes_as_run() const override { return engine_.options().sizes_as_run; }
  void invalid(std::string message) override;
  dim::Dim data_dependent(int output, int axis) override;
  std::vector<ops::Fact> infer_subgraph(const ir::Graph& graph, std::span<const ops::Fact> inputs) override;
  std::vector<ops::Fact> infer_only_branch(const ir::Graph& graph) override;
  std::vector<ops::Fact> infer_branch(const ir::Graph& graph, dim::Dim condition) override;
  // After the rule: what a body that may not run at all has to hold to is enough for the node, and no more.
  void weaken_body(const ops::Operator& entry);

 private:
  void state(dim::Relation kind, dim::Dim a, dim::Dim b, std::string_view what, ops::At at_a, ops::At at_b);
  // The size to go on with where `expression` must equal `constant`, see InferOptions::prefer_symbols.
  dim::Dim meet(dim::Dim expression, dim::Dim constant) const;

  // The size of two expressions that broadcast with each other.
  dim::Dim prefer(dim::Dim a, dim::Dim b) const;

  Engine& engine_;
  Frame& frame_;
  std::vector<ops::Fact>& outputs_;
  std::vector<ops::ElementsPtr> read_;  // elements read on demand, by input
  // The last subgraph inferred by this rule, and what had been stated before it: inferring it again replaces that.
  const ir::Graph* last_subgraph_ = nullptr;
  size_t obligations_before_ = 0, problems_before_ = 0;
  bool runs_branches_ = false;
};

}  // namespace thaw::infer
