#include "thaw/infer/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/infer/node_context.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::infer {

using ops::Fact;

namespace {

constexpr int kMaxDepth = 64;             // of functions that call functions
constexpr int64_t kMaxInputValues = 128;  // elements of an integer input that become symbols
constexpr size_t kBytesOfEntry = 64;      // of a map, beside what it holds
constexpr size_t kElementsOfVisit = 16;   // elements that take about as long to make as it takes to look at a node

// What a fact takes, without what it shares with others.
uint64_t held_bytes(const Fact& fact) {
  uint64_t bytes = sizeof(Fact);
  if (fact.shape) bytes += fact.shape->capacity() * sizeof(dim::Dim);
  if (fact.elements && fact.elements.use_count() == 1) bytes += fact.elements->capacity() * sizeof(ops::Element);
  if (fact.range && fact.range.use_count() == 1) bytes += sizeof(ops::ValueRange);
  if (fact.element && fact.element.use_count() == 1) bytes += held_bytes(*fact.element);
  if (fact.items && fact.items.use_count() == 1)
    for (const Fact& item : *fact.items) bytes += held_bytes(item);
  return bytes;
}

// How much work it was to make a fact, beside looking at the node.
uint64_t visits_of(const Fact& fact) {
  uint64_t visits = 0;
  if (fact.elements && fact.elements.use_count() == 1) visits += fact.elements->size() / kElementsOfVisit;
  if (fact.items && fact.items.use_count() == 1) visits += fact.items->size();
  return visits;
}

}  // namespace

const Fact& Result::fact(const ir::Value* value) const { return fact_of(facts_, value); }

const Fact& NodeVisit::input(int i) const { return fact_of(facts, node.input(i)); }

Result infer(const ir::Model& model, dim::Scope& scope, const InferOptions& options) {
  const Phase phase("inferring sizes");
  Engine engine(model, scope, options);
  engine.run();
  return std::move(engine.result());
}

Result infer_literals(const ir::Model& model, dim::Scope& scope) {
  InferOptions options;
  options.reads_shapes = false;
  return infer(model, scope, options);
}

void Engine::run() {
  const ir::Graph& graph = *model_.graph;
  for (const ops::ArityFault& fault : ops::find_arity_faults(model_))
    faults_.try_emplace(fault.node, fmt::format("{}, where {} is expected", fault.what, fault.expected));
  for (const ir::Value* input : graph.inputs()) {
    if (input->initializer()) continue;
    auto given = options_.inputs.find(input);
    root_.facts[input] = given != options_.inputs.end() ? given->second : declared_input_fact(model_, *input, scope_);
  }
  if (options_.states_values) name_input_ranges();
  run_graph(graph, root_);
  if (budget_.is_out()) result_.out_of_budget_ = true;
  result_.facts_ = std::move(root_.facts);
  result_.held_ = std::move(root_.held);
}

// The elements of an input may be anything: their lowest and their highest have a name each.
void Engine::name_input_ranges() {
  for (const ir::Value* input : model_.graph->inputs()) {
    Fact& fact = root_.facts[input];
    if (!fact.is_tensor() || !ir::is_integer(fact.dtype)) continue;
    const auto end = [&](const char* which) {
      return scope_.fresh(fmt::format("{}_of_{}", which, input->name()), dim::SymbolKind::kInputValue);
    };
    fact.range = std::make_shared<const ops::ValueRange>(ops::ValueRange{end("lowest"), end("highest"), true});
  }
}

bool Engine::spend(uint64_t visits) {
  if (budget_.spend(visits)) return true;
  result_.out_of_budget_ = true;
  return false;
}

void Engine::keep(const ir::Value* value, Fact fact, Frame& frame) {
  const uint64_t bytes = held_bytes(fact);
  const auto [slot, is_new] = frame.facts.try_emplace(value);
  if (is_new)
    frame.held.hold(bytes + kBytesOfEntry);
  else
    frame.held.exchange(held_bytes(slot->second), bytes);
  slot->second = std::move(fact);
}

void Engine::run_graph(const ir::Graph& graph, Frame& frame) {
  // Most nodes make one value.
  frame.facts.reserve(frame.facts.size() + graph.initializers().size() + graph.nodes().size());
  for (const ir::Value* value : graph.initializers()) keep(value, initializer_fact(model_, *value, scope_), frame);
  for (const ir::Value* value : graph.sparse_initializers()) {
    const ir::SparseTensor& sparse = *value->sparse_initializer();
    Fact fact = Fact::tensor(sparse.values.data_type, std::nullopt);
    if (sparse.dims.size() <= ops::kMaxRank) fact.shape.emplace(sparse.dims.begin(), sparse.dims.end());
    keep(value, std::move(fact), frame);
  }
  for (const ir::Node* node : graph.nodes()) {
    if (&frame == &root_ && node->graph() == model_.graph.get()) at_ = node;
    run_node(*node, frame);
  }
}

void Engine::run_node(const ir::Node& node, Frame& frame) {
  if (!spend(1)) return;
  size_t before = result_.obligations_.size();
  std::vector<Fact> outputs(node.outputs().size());
  const auto fault = faults_.empty() ? faults_.end() : faults_.find(&node);
  if (fault != faults_.end()) add_problem(node, fault->second);
  // Most models have no functions: spare them the look-up.
  const ir::Function* function =
      model_.functions.empty() ? nullptr : model_.find_function(node.domain(), node.op_type(), node.overload());
  if (fault != faults_.end()) {
    trust_declared(node, outputs);
  } else if (function) {
    run_function(*function, node, frame, outputs);
  } else if (const ops::Operator* entry = registry_.find(node.domain(), node.op_type())) {
    run_rule(*entry, node, frame, outputs);
  } else {
    note_unknown_operator(node);
    trust_declared(node, outputs);
  }
  if (options_.after_node) {
    // What was stated by this node: its rule may have taken back what a subgraph's first round had stated.
    size_t from = std::min(before, result_.obligations_.size());
    options_.after_node({node, frame.facts, outputs, std::span(result_.obligations_).subspan(from)});
  }
  uint64_t visits = outputs.size() / kElementsOfVisit + node.inputs().size() / kElementsOfVisit;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::Value* value = node.outputs()[i];
    if (!value) continue;
    visits += visits_of(outputs[i]);
    if (outputs[i].shape)
      for (const dim::Dim d : *outputs[i].shape) imply_at_least(node, frame, d, 0);
    keep(value, std::move(outputs[i]), frame);
  }
  if (visits > 0) spend(visits);
}

void Engine::run_rule(const ops::Operator& entry, const ir::Node& node, Frame& frame, std::vector<Fact>& outputs) {
  NodeContext context(*this, node, opset_of(node.domain(), frame), frame, outputs);
  try {
    entry.shape(context);
    if (options_.states_values) {
      context.weaken_body(entry);
      ops::state_values(entry, context);
    }
    if (!options_.reads_shapes && entry.operands[0] == ops::Role::kShapeOnly)
      for (Fact& output : outputs) output.elements = nullptr;
    if (names_unknown_ && &frame == &root_ && runs_once(node.graph())) name_unknown(context, node, outputs);
  } catch (const Error& error) {
    // A constant whose bytes cannot be had, say: what the rule had not set stays unknown.
    add_problem(node, error.what());
  }
}

// Whether nodes of a graph run once: of the main graph, and of a branch that always runs where its node does so.
bool Engine::runs_once(const ir::Graph* graph) const {
  while (names_in_branches_ && graph != model_.graph.get() && only_branches_.contains(graph)) graph = graph->parent();
  return graph == model_.graph.get();
}

// A node that runs once: an axis of its outputs has one size in a run.
void Engine::name_unknown(NodeContext& context, const ir::Node& node, std::vector<Fact>& outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    Fact& output = outputs[i];
    if (!node.output(static_cast<int>(i)) || !output.is_tensor() || !output.shape) continue;
    for (size_t axis = 0; axis < output.shape->size(); ++axis)
      if ((*output.shape)[axis].is_unknown())
        (*output.shape)[axis] = context.data_dependent(static_cast<int>(i), static_cast<int>(axis));
  }
}

void Engine::run_function(const ir::Function& function, const ir::Node& node, Frame& frame,
                          std::vector<Fact>& outputs) {
  if (frame.depth >= kMaxDepth) return;
  Frame inner;
  inner.function = &function;
  inner.call = &node;
  inner.caller = &frame;
  inner.depth = frame.depth + 1;
  inner.held = HeldBytes(model_.budget);
  const std::vector<ir::Value*>& formal = function.body->inputs();
  for (size_t i = 0; i < formal.size(); ++i) {
    const ir::Value* actual = node.input(static_cast<int>(i));
    if (!actual) continue;
    auto it = frame.facts.find(actual);
    if (it != frame.facts.end()) keep(formal[i], it->second, inner);
    if (const ir::Tensor* constant = constant_of(*actual, frame)) inner.constants[formal[i]] = constant;
  }
  run_graph(*function.body, inner);
  const std::vector<ir::Value*>& results = function.body->outputs();
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    auto it = inner.facts.find(results[i]);
    if (it != inner.facts.end()) outputs[i] = it->second;
  }
}

std::vector<Fact> Engine::run_subgraph(const ir::Graph& graph, std::span<const Fact> inputs, Frame& frame) {
  const std::vector<ir::Value*>& formal = graph.inputs();
  for (size_t i = 0; i < formal.size() && i < inputs.size(); ++i) keep(formal[i], inputs[i], frame);
  run_graph(graph, frame);
  std::vector<Fact> results;
  results.reserve(graph.outputs().size());
  for (const ir::Value* output : graph.outputs()) {
    auto it = frame.facts.find(output);
    results.push_back(it == frame.facts.end() ? Fact() : it->second);
  }
  return results;
}

void Engine::trust_declared(const ir::Node& node, std::vector<Fact>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::Value* value = node.outputs()[i];
    if (!value || value->type.kind == ir::Type::Kind::kNone) continue;
    outputs[i] = declared_inner_fact(value->type, scope_);
    result_.trusted_.push_back(value);
  }
}

void Engine::note_unknown_operator(const ir::Node& node) {
  std::string name = ir::operator_name(node);
  if (unknown_seen_.insert(name).second) result_.unknown_operators_.push_back(std::move(name));
}

void Engine::forget_since(size_t obligations, size_t problems) {
  if (result_.obligations_.size() > obligations)
    root_.held.release((result_.obligations_.size() - obligations) * kBytesOfObligation);
  result_.obligations_.resize(std::min(obligations, result_.obligations_.size()));
  result_.problems_.resize(std::min(problems, result_.problems_.size()));
  stated_at_.resize(result_.obligations_.size());
  failed_at_.resize(result_.problems_.size());
}

namespace {

// The same statement, which holds too where the condition is 0; a product is 0 where one of its factors is.
ops::Obligation under(ops::Obligation o, dim::Dim condition) {
  switch (o.kind) {
    case dim::Relation::kBroadcastable:
      o.kind = dim::Relation::kEqual;
      o.a = (o.a - o.b) * (o.a - 1) * (o.b - 1) * condition;
      o.b = 0;
      break;
    case dim::Relation::kEqual:
    case dim::Relation::kAtMost:
      o.a = (o.a - o.b) * condition;
      o.b = 0;
      break;
    case dim::Relation::kDivisible:
      o.a = o.a * condition;
      break;
  }
  if (!o.of_values) o.input_a = -1;
  o.axis_a = o.input_b = o.axis_b = -1;
  return o;
}

}  // namespace

void Engine::condition_since(size_t obligations, dim::Dim condition) {
  if (!options_.under_conditions || condition.is_constant(1)) return;
  size_t kept = obligations;
  for (size_t i = obligations; i < result_.obligations_.size(); ++i) {
    const ops::Obligation o = under(result_.obligations_[i], condition);
    // Too long to be written, which leaves it open; or true whatever the sizes are.
    if (o.a.is_unknown() && !options_.states_values) continue;
    if (o.kind != dim::Relation::kDivisible && dim::same(o.a, o.b)) continue;
    stated_at_[kept] = stated_at_[i];
    result_.obligations_[kept++] = o;
  }
  result_.obligations_.resize(kept);
  stated_at_.resize(kept);
}

void Engine::weaken_since(size_t obligations) {
  for (size_t i = obligations; i < result_.obligations_.size(); ++i) result_.obligations_[i].is_enough = true;
}

int64_t Engine::opset_of(const std::string& domain, const Frame& frame) const {
  if (frame.function) {
    for (const ir::OpsetImport& import : frame.function->opset_imports)
      if (import.domain == domain) return import.version;
  }
  return model_.opset(domain).value_or(domain.empty() ? 0 : 1);
}

const ir::Tensor* Engine::constant_of(const ir::Value& value, const Frame& frame) const {
  if (!frame.constants.empty()) {
    auto it = frame.constants.find(&value);
    if (it != frame.constants.end()) return it->second;
  }
  return value.fixed_constant();
}

ops::ElementsPtr Engine::read_elements(const ir::Value& value, const Fact& fact, const ir::Tensor* constant) {
  auto count = fact.num_elements().constant();
  if (!count || *count < 0 || *count > ops::kMaxElements) return nullptr;
  if (constant) return constant->data_type == fact.dtype ? ops::small_elements(*constant) : nullptr;
  bool top_input = value.is_input() && value.graph() == model_.graph.get();
  if (!top_input || !ir::is_integer(fact.dtype) || *count > kMaxInputValues) return nullptr;
  if (!spend(static_cast<uint64_t>(*count))) return nullptr;
  auto elements = std::make_shared<ops::Elements>();
  elements->reserve(static_cast<size_t>(*count));
  for (int64_t i = 0; i < *count; ++i) elements->push_back(ops::Element::integer(scope_.input_value(value.name(), i)));
  return elements;
}

}  // namespace thaw::infer
