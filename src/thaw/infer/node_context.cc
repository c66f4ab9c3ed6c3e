#include "thaw/infer/node_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::infer {

using dim::Dim;
using ops::At;

namespace {

constexpr uint64_t kElementsRead = 16;  // of a constant, in about the time that it takes to look at a node

bool at_least(Dim d, int64_t bound) {
  auto lower = dim::range_of(d).lower;
  return lower && *lower >= bound;
}

}  // namespace

NodeContext::NodeContext(Engine& engine, const ir::Node& node, int64_t opset, Frame& frame,
                         std::vector<ops::Fact>& outputs)
    : engine_(engine), frame_(frame), outputs_(outputs) {
  node_ = &node;
  opset_ = opset;
}

const ops::Fact& NodeContext::input(int i) const { return fact_of(frame_.facts, node_->input(i)); }

const ops::Elements* NodeContext::elements(int i) {
  const ops::Fact& fact = input(i);
  if (fact.elements) return fact.elements.get();
  const ir::Value* value = node_->input(i);
  if (!value || !fact.is_tensor()) return nullptr;
  if (read_.empty()) read_.resize(node_->inputs().size());
  if (!read_[i]) {
    read_[i] = engine_.read_elements(*value, fact, engine_.constant_of(*value, frame_));
    if (read_[i]) frame_.facts[value].elements = read_[i];
  }
  return read_[i].get();
}

const ir::Tensor* NodeContext::constant(int i) const {
  const ir::Value* value = node_->input(i);
  return value ? engine_.constant_of(*value, frame_) : nullptr;
}

void NodeContext::set_output(int i, ops::Fact fact) {
  if (i < 0 || i >= static_cast<int>(outputs_.size())) return;
  if (fact.shape && fact.shape->size() > ops::kMaxRank) fact.shape.reset();
  if (fact.shape) {
    for (Dim& d : *fact.shape) {
      auto v = d.constant();
      if (!v || *v >= 0) continue;
      invalid(fmt::format("output {} would have the negative size {}", i, *v));
      d = Dim();
    }
  }
  outputs_[i] = std::move(fact);
}

void NodeContext::set_elements(int i, ops::Elements elements) {
  if (i < 0 || i >= static_cast<int>(outputs_.size())) return;
  ops::Fact& fact = outputs_[i];
  if (!fact.is_tensor() || elements.size() > static_cast<size_t>(ops::kMaxElements)) return;
  if (!fact.num_elements().is_constant(static_cast<int64_t>(elements.size()))) return;
  if (std::all_of(elements.begin(), elements.end(), [](const ops::Element& e) { return e.is_unknown(); })) return;
  fact.elements = std::make_shared<const ops::Elements>(std::move(elements));
}

const ir::Attribute* NodeContext::attribute(std::string_view name) const { return frame_.attribute(*node_, name); }

void NodeContext::state(dim::Relation kind, Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  engine_.add_obligation({node_, kind, a, b, what, at_a.input, at_a.axis, at_b.input, at_b.axis});
}

Dim NodeContext::meet(Dim expression, Dim constant) const {
  const InferOptions& options = engine_.options();
  if (!options.prefer_symbols) return constant;
  auto assumed = dim::evaluate(expression, options.assumed_sizes);
  return assumed && *assumed != *constant.constant() ? constant : expression;
}

Dim NodeContext::prefer(Dim a, Dim b) const {
  const InferOptions& options = engine_.options();
  if (!options.prefer_symbols) return dim::broadcast(a, b);
  auto x = dim::evaluate(a, options.assumed_sizes), y = dim::evaluate(b, options.assumed_sizes);
  if (x && y && *x != *y) return *x == 1 ? b : *y == 1 ? a : dim::broadcast(a, b);
  // Meant to be equal: the simpler one says it.
  return dim::to_string(b).size() < dim::to_string(a).size() ? b : a;
}

Dim NodeContext::require_equal(Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_unknown()) return b;
  if (b.is_unknown() || dim::same(a, b)) return a;
  state(dim::Relation::kEqual, a, b, what, at_a, at_b);
  if (a.is_constant() && b.is_constant()) {
    invalid(fmt::format("{} differ: {} and {}", what, *a.constant(), *b.constant()));
    return {};
  }
  if (a.is_constant()) return meet(b, a);
  if (b.is_constant()) return meet(a, b);
  return dim::is_data_dependent(a) ? b : a;
}

Dim NodeContext::require_broadcast(Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (dim::same(a, b)) return a;
  // A constant other than 1 decides the result, whatever the other turns out to be.
  if (a.is_unknown() || b.is_unknown()) {
    if (a.is_constant()) return a;
    return b.is_constant() ? b : Dim();
  }
  if (a.is_constant() && b.is_constant()) {
    state(dim::Relation::kBroadcastable, a, b, what, at_a, at_b);
    invalid(fmt::format("{} do not broadcast: {} and {}", what, *a.constant(), *b.constant()));
    return {};
  }
  state(dim::Relation::kBroadcastable, a, b, what, at_a, at_b);
  if (!a.is_constant() && !b.is_constant()) return prefer(a, b);
  return a.is_constant() ? meet(b, a) : meet(a, b);
}

void NodeContext::require_divisible(Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_unknown() || b.is_unknown() || b.is_constant(1)) return;
  if (a.is_constant() && b.is_constant()) {
    if (!b.is_constant(0) && *a.constant() % *b.constant() == 0) return;
    state(dim::Relation::kDivisible, a, b, what, at_a, at_b);
    invalid(fmt::format("{}: {} is not a multiple of {}", what, *a.constant(), *b.constant()));
    return;
  }
  if (at_least(b, 1) && dim::exact_div(a, b)) return;
  state(dim::Relation::kDivisible, a, b, what, at_a, at_b);
}

void NodeContext::require_at_most(Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_unknown() || b.is_unknown() || at_least(b - a, 0)) return;
  state(dim::Relation::kAtMost, a, b, what, at_a, at_b);
  if (a.is_constant() && b.is_constant())
    invalid(fmt::format("{}: {} is more than {}", what, *a.constant(), *b.constant()));
}

void NodeContext::specify_at_most(Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_unknown() || b.is_unknown() || at_least(b - a, 0)) return;
  ops::Obligation stated{node_, dim::Relation::kAtMost, a, b, what, at_a.input, at_a.axis, at_b.input, at_b.axis};
  stated.only_specified = true;
  engine_.add_obligation(stated);
}

std::optional<ops::ValueRange> NodeContext::range(int i) {
  const ir::Value* value = node_->input(i);
  if (!value || !input(i).is_tensor()) return std::nullopt;
  if (const ops::Elements* list = elements(i))
    if (auto found = ops::range_of_elements(*list)) return found;
  const ops::Fact& fact = input(i);
  if (fact.range) return *fact.range;
  const ir::Tensor* tensor = engine_.constant_of(*value, frame_);
  // Positions are of these types; integers of others are quantized weights.
  if (!tensor || (tensor->data_type != ir::DataType::kInt64 && tensor->data_type != ir::DataType::kInt32))
    return std::nullopt;
  const auto count = fact.num_elements().constant();
  if (!count || !engine_.spend(static_cast<uint64_t>(*count) / kElementsRead)) return std::nullopt;
  auto found = ops::range_of_constant(*tensor);
  if (found) frame_.facts[value].range = std::make_shared<const ops::ValueRange>(*found);
  return found;
}

void NodeContext::set_range(int i, const ops::ValueRange& range) {
  if (i < 0 || i >= static_cast<int>(outputs_.size()) || !outputs_[static_cast<size_t>(i)].is_tensor()) return;
  if (range.lowest.is_unknown() && range.highest.is_unknown()) return;
  outputs_[static_cast<size_t>(i)].range = std::make_shared<const ops::ValueRange>(range);
}

void NodeContext::require_of_values(Dim a, Dim b, std::string_view what, int input, bool is_enough) {
  const bool is_known = a.is_known() && b.is_known();
  if (is_known && at_least(b - a, 0)) return;
  ops::Obligation stated{node_, dim::Relation::kAtMost, is_known ? a : Dim(), is_known ? b : Dim(), what, input};
  stated.of_values = true;
  stated.is_enough = is_enough;
  engine_.add_obligation(stated);
}

void NodeContext::imply_at_least(Dim d, int64_t bound) { engine_.imply_at_least(*node_, frame_, d, bound); }

bool NodeContext::holds_at_least(Dim d, int64_t bound) const {
  if (d.is_unknown()) return false;
  return at_least(d, bound) || engine_.is_implied_at_least(d, bound);
}

void NodeContext::invalid(std::string message) { engine_.add_problem(*node_, std::move(message)); }

Dim NodeContext::data_dependent(int output, int axis) {
  const ir::Value* value = node_->output(output);
  Dim& made = frame_.data_dependent[{value, axis}];
  if (made.is_unknown() && engine_.spend(1)) {
    std::string name = fmt::format("{}_dim{}", value ? value->name() : node_->op_type(), axis);
    // Outside of functions a value has one name, but in branches, which may call theirs alike: inferring the model again in the same scope
    // meets the same symbol.
    dim::Scope& scope = engine_.scope();
    auto known = scope.find(name);
    bool ours =
        known && scope.symbols()[static_cast<size_t>(scope.symbol_id(*known))].kind == dim::SymbolKind::kDataDependent;
    const bool is_inside = frame_.function || (engine_.names_in_branches() && value && value->graph()->parent());
    if (is_inside || (known && !ours))
      made = scope.fresh(name, dim::SymbolKind::kDataDependent);
    else
      made = known ? *known : scope.symbol(name, dim::SymbolKind::kDataDependent);
  }
  return made;
}

std::vector<ops::Fact> NodeContext::infer_subgraph(const ir::Graph& graph, std::span<const ops::Fact> inputs) {
  if (last_subgraph_ == &graph) {
    engine_.forget_since(obligations_before_, problems_before_);
    if (engine_.options().before_again) engine_.options().before_again(graph);
  } else {
    last_subgraph_ = &graph;
    obligations_before_ = engine_.num_obligations();
    problems_before_ = engine_.num_problems();
  }
  return engine_.run_subgraph(graph, inputs, frame_);
}

std::vector<ops::Fact> NodeContext::infer_only_branch(const ir::Graph& graph) {
  engine_.is_only_branch(graph);
  return infer_subgraph(graph, {});
}

void NodeContext::weaken_body(const ops::Operator& entry) {
  if (!last_subgraph_ || runs_branches_) return;
  if (!entry.rounds || !at_least(entry.rounds(*this, *last_subgraph_), 1)) engine_.weaken_since(obligations_before_);
}

std::vector<ops::Fact> NodeContext::infer_branch(const ir::Graph& graph, Dim condition) {
  const size_t before = engine_.num_obligations();
  std::vector<ops::Fact> results = engine_.run_subgraph(graph, {}, frame_);
  runs_branches_ = true;
  if (condition.is_known())
    engine_.condition_since(before, condition);
  else
    engine_.weaken_since(before);
  return results;
}

}  // namespace thaw::infer
