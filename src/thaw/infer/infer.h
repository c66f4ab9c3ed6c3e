// The inference engine: runs every operator's rule over a graph, once, in order.
//
//   dim::Scope scope;
//   infer::Result result = infer::infer(model, scope);
//   result.fact(value).shape …
//
// Graph inputs: a declared integer stays; a declared name becomes a symbol of that name (equal names, equal sizes),
// unless it is not a name at all ("?", "-1", "None", empty): then, as for a dim without declaration, the symbol is
// called "<input>_dim<axis>".
// A declared text that reads as an expression over other inputs' names ("past + seq") is one.
// Elements of small integer inputs become symbols NAME[i] when a rule asks for them.
// Declared types of intermediate values and outputs are not trusted; they serve only where nothing could be inferred
// because an operator has no rule (its outputs take the declared type, marked in `trusted`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/ops/rule/obligation.h"

namespace thaw::infer {

// A node that cannot run as it is: a rule refused it, or an obligation fails for every size.
struct Problem {
  const ir::Node* node = nullptr;
  std::string message;
};

// One node just inferred, for InferOptions::after_node.
struct NodeVisit {
  const ir::Node& node;
  const std::unordered_map<const ir::Value*, ops::Fact>& facts;  // of all values before it
  std::span<ops::Fact> outputs;                                  // may be replaced
  std::span<const ops::Obligation> stated;                       // by this node's rule

  // The fact of the node's input i; the unknown fact where it is missing.
  const ops::Fact& input(int i) const;
};

struct InferOptions {
  // Facts to use for graph inputs instead of their declarations (by input value).
  std::unordered_map<const ir::Value*, ops::Fact> inputs;
  // Where an obligation says that an expression equals a constant, go on with the expression (the size that the model
  // was meant for) instead of the constant (the size it was frozen at).
  bool prefer_symbols = false;
  // With prefer_symbols: values that symbols are thought to have had when the model was frozen. An expression that
  // comes to another value than the constant does not stand for it.
  dim::Assignment assumed_sizes;
  // Where false, no element of a tensor comes from a shape: what is still known of small tensors is written in the file
  // (literal), or is an input's value.
  bool reads_shapes = true;
  // Sizes are those that ONNX Runtime makes also where what is only specified of them does not hold (a pool's window
  // that is larger than its input); else they follow the specification there, which reads more easily.
  bool sizes_as_run = false;
  // Whether nodes state what they need of the numbers in their operands: indices, divisors, steps.
  bool states_values = false;
  // What a branch needs is stated under the condition that it runs; else as if it ran, which tells the sizes that it was
  // frozen at.
  bool under_conditions = true;
  // Called after each node's rule, before its outputs are read by others.
  std::function<void(const NodeVisit&)> after_node;
  // Called before a graph of a node is inferred once more (a Loop's body, until what it carries has settled): what was
  // seen of its nodes before does not hold.
  std::function<void(const ir::Graph&)> before_again;
};

class Result {
 public:
  const ops::Fact& fact(const ir::Value* value) const;  // the unknown fact for a value that was not reached
  // Those that do not hold identically, in the order of the nodes.
  const std::vector<ops::Obligation>& obligations() const { return obligations_; }
  const std::vector<Problem>& problems() const { return problems_; }
  // Values whose declared type was taken because an operator has no rule.
  const std::vector<const ir::Value*>& trusted() const { return trusted_; }
  // True when the model's budget ran out (core/budget.h), so that some facts are unknown for that reason alone.
  bool out_of_budget() const { return out_of_budget_; }
  // Operators without a rule that were met, as "domain.Name" or "Name", each once.
  const std::vector<std::string>& unknown_operators() const { return unknown_operators_; }

 private:
  friend class Engine;
  friend class Inference;
  std::unordered_map<const ir::Value*, ops::Fact> facts_;
  std::vector<ops::Obligation> obligations_;
  std::vector<Problem> problems_;
  std::vector<const ir::Value*> trusted_;
  std::vector<std::string> unknown_operators_;
  bool out_of_budget_ = false;
  HeldBytes held_;
};

// Spends the model's budget, shared by all inferences of a run: a node is a visit each time that it is looked at, in the
// body of a function for each call, in that of a Loop for each round. Tensors of a rank above kMaxRank have no rank.
Result infer(const ir::Model& model, dim::Scope& scope, const InferOptions& options = {});

// Inference that reads no shapes: which numbers are literal. A size that inference knows because something else is
// frozen, or because the input is declared so, is none.
Result infer_literals(const ir::Model& model, dim::Scope& scope);

}  // namespace thaw::infer
