// The engine behind infer(): walks graphs, calls rules, keeps facts. Internal to infer/.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/infer/frame.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/obligation.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {

class NodeContext;

class Engine {
 public:
  Engine(const ir::Model& model, dim::Scope& scope, const InferOptions& options)
      : model_(model), scope_(scope), options_(options), budget_(*model.budget), registry_(ops::registry()) {
    root_.held = HeldBytes(model.budget);
    scope.spend_of(model.budget);
  }

  // See UnknownSizes; before the model is inferred.
  void name_unknown_sizes(bool in_branches) {
    names_unknown_ = true;
    names_in_branches_ = in_branches;
  }
  bool names_in_branches() const { return names_in_branches_; }
  // Says of a subgraph that it is inferred as the one branch that its node ever runs.
  void is_only_branch(const ir::Graph& graph) { only_branches_.insert(&graph); }
  // Infers the whole model.
  void run();
  // Infers again what the nodes that were touched, and inputs declared anew, make different; stops where facts stay the
  // same. How many nodes were visited.
  size_t update(std::span<const ir::Node* const> touched, std::span<const ir::Value* const> declared);
  Result& result() { return result_; }

  // What a NodeContext needs of the engine.
  const InferOptions& options() const { return options_; }
  dim::Scope& scope() { return scope_; }
  std::vector<ops::Fact> run_subgraph(const ir::Graph& graph, std::span<const ops::Fact> inputs, Frame& frame);
  void add_obligation(ops::Obligation obligation) {
    root_.held.hold(kBytesOfObligation);
    result_.obligations_.push_back(obligation);
    stated_at_.push_back(at_);
  }
  void add_problem(const ir::Node& node, std::string message) {
    root_.held.hold(sizeof(Problem) + message.size());
    result_.problems_.push_back({&node, std::move(message)});
    failed_at_.push_back(at_);
  }
  // Kept where the node runs in every run: not of one in a branch or a loop.
  void imply_at_least(const ir::Node& node, const Frame& frame, dim::Dim d, int64_t bound) {
    if (!d.is_symbolic() || &frame != &root_ || node.graph() != model_.graph.get()) return;
    const auto [at, fresh] = lowest_.try_emplace(d.expr(), bound);
    if (fresh) root_.held.hold(kBytesOfBound);
    at->second = std::max(at->second, bound);
  }
  bool is_implied_at_least(dim::Dim d, int64_t bound) const {
    const auto at = d.is_symbolic() ? lowest_.find(d.expr()) : lowest_.end();
    return at != lowest_.end() && at->second >= bound;
  }
  size_t num_obligations() const { return result_.obligations_.size(); }
  size_t num_problems() const { return result_.problems_.size(); }
  // Spends visits; false once the budget is out.
  bool spend(uint64_t visits);
  void forget_since(size_t obligations, size_t problems);
  // What was stated since then is needed only where `condition`, which is 0 or 1, is 1.
  void condition_since(size_t obligations, dim::Dim condition);
  // Whatever was stated since then is enough for a run, and may not hold in one.
  void weaken_since(size_t obligations);
  // Elements of a small constant or of a small integer graph input; null when there are none.
  ops::ElementsPtr read_elements(const ir::Value& value, const ops::Fact& fact, const ir::Tensor* constant);
  // The constant behind a value that no caller may replace.
  const ir::Tensor* constant_of(const ir::Value& value, const Frame& frame) const;

 private:
  static constexpr uint64_t kBytesOfObligation = sizeof(ops::Obligation) + sizeof(const ir::Node*);

  static constexpr uint64_t kBytesOfBound = 64;

  void name_input_ranges();
  void run_graph(const ir::Graph& graph, Frame& frame);
  void keep(const ir::Value* value, ops::Fact fact, Frame& frame);
  void run_node(const ir::Node& node, Frame& frame);
  void run_rule(const ops::Operator& entry, const ir::Node& node, Frame& frame, std::vector<ops::Fact>& outputs);
  bool runs_once(const ir::Graph* graph) const;
  void name_unknown(NodeContext& context, const ir::Node& node, std::vector<ops::Fact>& outputs) const;
  void run_function(const ir::Function& function, const ir::Node& node, Frame& frame, std::vector<ops::Fact>& outputs);
  void trust_declared(const ir::Node& node, std::vector<ops::Fact>& outputs);
  void note_unknown_operator(const ir::Node& node);
  int64_t opset_of(const std::string& domain, const Frame& frame) const;

  void learn_constants(const ir::Node& node);
  void forget_nodes(const std::unordered_set<const ir::Node*>& nodes);

  const ir::Model& model_;
  dim::Scope& scope_;
  const InferOptions& options_;
  Budget& budget_;
  Frame root_;                                          // its facts are the result's between two runs
  const ir::Node* at_ = nullptr;                        // the node of the main graph that is being visited
  std::vector<const ir::Node*> stated_at_, failed_at_;  // by obligation and problem
  // What sizes are at least, as nodes of the main graph imply: 0 as the size of an axis.
  std::unordered_map<const dim::Expr*, int64_t> lowest_;
  const ops::Registry& registry_;
  Result result_;
  bool names_unknown_ = false, names_in_branches_ = false;
  std::unordered_set<const ir::Graph*> only_branches_;
  std::unordered_set<std::string> unknown_seen_;
  std::unordered_map<const ir::Node*, std::string> faults_;  // nodes with too many or too few of something
};

// Facts of the model's inputs, as infer.h says (declared.cc).
ops::Fact declared_input_fact(const ir::Model& model, const ir::Value& input, dim::Scope& scope);
// The fact that a declared type of an inner value states; names that are no input's symbol become data-dependent ones.
ops::Fact declared_inner_fact(const ir::Type& type, dim::Scope& scope);
// The fact of an initializer.
ops::Fact constant_fact(const ir::Tensor& tensor);
// Of an initializer: what its tensor is; where the caller may replace it, the sizes that its declaration leaves open stay so.
ops::Fact initializer_fact(const ir::Model& model, const ir::Value& value, dim::Scope& scope);

}  // namespace thaw::infer
