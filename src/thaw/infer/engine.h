// The engine behind infer(): walks graphs, calls rules, keeps facts. Internal to infer/.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "thaw/infer/frame.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {

class Engine {
 public:
  Engine(const ir::Model& model, dim::Scope& scope, const Options& options)
      : model_(model), scope_(scope), options_(options), registry_(ops::registry()) {}

  Result run();

  // What a NodeContext needs of the engine.
  const Options& options() const { return options_; }
  dim::Scope& scope() { return scope_; }
  std::vector<ops::Fact> run_subgraph(const ir::Graph& graph, std::span<const ops::Fact> inputs, Frame& frame);
  void add_obligation(ops::Obligation obligation) { result_.obligations_.push_back(obligation); }
  void add_problem(const ir::Node& node, std::string message) {
    result_.problems_.push_back({&node, std::move(message)});
  }
  size_t num_obligations() const { return result_.obligations_.size(); }
  size_t num_problems() const { return result_.problems_.size(); }
  void forget_since(size_t obligations, size_t problems);
  // Elements of a small constant or of a small integer graph input; null when there are none.
  ops::ElementsPtr read_elements(const ir::Value& value, const ops::Fact& fact, const ir::Tensor* constant);
  // The constant behind a value that no caller may replace.
  const ir::Tensor* constant_of(const ir::Value& value, const Frame& frame) const;

 private:
  void run_graph(const ir::Graph& graph, Frame& frame);
  void run_node(const ir::Node& node, Frame& frame);
  void run_rule(const ops::OpEntry& entry, const ir::Node& node, Frame& frame, std::vector<ops::Fact>& outputs);
  void run_function(const ir::Function& function, const ir::Node& node, Frame& frame, std::vector<ops::Fact>& outputs);
  void trust_declared(const ir::Node& node, std::vector<ops::Fact>& outputs);
  void note_unknown_operator(const ir::Node& node);
  int64_t opset_of(const std::string& domain, const Frame& frame) const;

  const ir::Model& model_;
  dim::Scope& scope_;
  const Options& options_;
  const ops::Registry& registry_;
  Result result_;
  std::unordered_set<std::string> unknown_seen_;
  int64_t visits_ = 0;
};

// Facts of the model's inputs, as infer.h says (declared.cc).
ops::Fact declared_input_fact(const ir::Model& model, const ir::Value& input, dim::Scope& scope);
// The fact that a declared type of an inner value states; names that are no input's symbol become data-dependent ones.
ops::Fact declared_inner_fact(const ir::Type& type, dim::Scope& scope);
// The fact of an initializer.
ops::Fact constant_fact(const ir::Tensor& tensor);

}  // namespace thaw::infer
