#include "thaw/check/target_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/core/error.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/quantized.h"

namespace thaw::checking {
namespace {

constexpr size_t kMostMet = 16;  // types of one value; a function that is called with more is not told apart further

bool is_control_flow(const ir::Node& node) {
  const ops::Operator* entry = ops::registry().find(node.domain(), node.op_type());
  return entry && entry->op_class == ops::OpClass::kControl;
}

Met read(const ops::Fact& fact) {
  return {.type = ops::value_type(fact), .tensor = fact.is_tensor(), .ranked = fact.has_rank()};
}

}  // namespace

Location location_of(const TargetNode& node) {
  Location location = location_of(*node.node);
  if (node.function) {
    const ir::Function& f = *node.function;
    std::string name = f.domain.empty() ? f.name : f.domain + "." + f.name;
    location.graph = fmt::format("function '{}'{}{}", name, location.graph.empty() ? "" : " / ", location.graph);
  }
  return location;
}

TargetView::TargetView(const ir::Model& model, const ops::Target& target, const infer::Result& inferred)
    : model_(model), target_(target), inferred_(inferred) {
  walk(*model.graph, nullptr, false);
  // The list grows while bodies call further functions.
  for (size_t i = 0; i < functions_.size(); ++i) walk(*functions_[i]->body, functions_[i], false);
  if (!functions_.empty()) look_into_functions();
}

void TargetView::walk(const ir::Graph& graph, const ir::Function* function, bool never_runs) {
  for (const ir::Node* node : graph.nodes()) {
    const ir::Function* called =
        model_.functions.empty() ? nullptr : model_.find_function(node->domain(), node->op_type(), node->overload());
    if (called) {
      if (called_.insert(called).second) functions_.push_back(called);
      continue;
    }
    bool folded = is_folded(*node), decided = is_decided(*node);
    const bool on_cpu = target_.shapes_on_cpu && !folded && makes_shapes(*node);
    nodes_.push_back({.node = node,
                      .function = function,
                      .opset = opset_of(*node, function),
                      .at_load = never_runs || folded || decided || drops_nothing(*node),
                      .control_flow = is_control_flow(*node),
                      .on_cpu = on_cpu});
    if (on_cpu)
      for (const ir::Value* out : node->outputs())
        if (out) shapes_.insert(out);
    if (folded)
      for (const ir::Value* out : node->outputs())
        if (out) folded_.insert(out);
    const ir::Graph* unchosen = decided ? unchosen_branch(*node) : nullptr;
    for (const ir::Graph* subgraph : node->subgraphs()) walk(*subgraph, function, never_runs || subgraph == unchosen);
  }
}

bool TargetView::is_constant(const ir::Value& value) const {
  // A runtime folds nothing that a caller may replace, which from IR version 4 on is what is an input too.
  if (value.constant() && !(value.is_input() && model_.ir_version >= 4)) return true;
  return folded_.contains(&value);
}

std::optional<bool> TargetView::are_zeros(const ir::Value& value) const {
  const ir::Tensor* constant = value.constant();
  if (!constant || !is_constant(value)) return std::nullopt;
  try {
    return std::ranges::all_of(constant->to_double(), [](double number) { return number == 0; });
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool TargetView::is_folded(const ir::Node& node) const {
  if (node.constant()) return true;
  const ops::Operator* entry = ops::registry().find(node.domain(), node.op_type());
  if (!entry || !entry->deterministic || entry->op_class == ops::OpClass::kControl || node.inputs().empty())
    return false;
  // A DequantizeLinear of constants stays, for the node that it feeds to be fused with; so does what is no tensor.
  if (node.op_type() == "DequantizeLinear") return false;
  for (const ir::Value* out : node.outputs()) {
    const ops::Fact::Kind kind = inferred_.fact(out).kind;
    if (kind != ops::Fact::Kind::kTensor && kind != ops::Fact::Kind::kUnknown) return false;
  }
  if (entry->operands[0] == ops::Role::kShapeOnly && node.input(0)) {
    const ops::Fact& fact = inferred_.fact(node.input(0));
    if (fact.shape && std::ranges::all_of(*fact.shape, [](dim::Dim d) { return d.is_constant(); })) return true;
  }
  return std::ranges::all_of(node.inputs(), [&](const ir::Value* in) { return !in || is_constant(*in); });
}

bool TargetView::is_decided(const ir::Node& node) const {
  return node.op_type() == "If" && node.domain().empty() && node.input(0) && is_constant(*node.input(0));
}

bool TargetView::makes_shapes(const ir::Node& node) const {
  const ops::Operator* entry = ops::registry().find(node.domain(), node.op_type());
  if (!entry || entry->op_class == ops::OpClass::kControl || node.inputs().empty()) return false;
  if (entry->operands[0] == ops::Role::kShapeOnly) return true;
  bool reads_any = false;
  for (const ir::Value* in : node.inputs()) {
    if (!in || is_constant(*in)) continue;
    if (!shapes_.contains(in)) return false;
    reads_any = true;
  }
  return reads_any;
}

std::optional<ops::ValueType> TargetView::quantized_type(const ir::Value& value) const {
  const ir::Value* stored = ops::stored_as(value);
  if (!stored) return std::nullopt;
  const ops::Fact& fact = inferred_.fact(stored);
  if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined) return std::nullopt;
  return ops::ValueType{ops::Container::kQuantized, fact.dtype};
}

// A Dropout outside of training hands its input on; ONNX Runtime drops it between two nodes.
bool TargetView::drops_nothing(const ir::Node& node) const {
  if (node.op_type() != "Dropout" || !node.domain().empty()) return false;
  const ir::Value *data = node.input(0), *out = node.output(0), *mask = node.output(1), *training = node.input(2);
  if (!data || !data->producer() || !out || out->is_output() || (mask && mask->is_used())) return false;
  return !training || (is_constant(*training) && number(*training) == 0);
}

// The branch of an If that a constant leaves out; null where it is not known which.
const ir::Graph* TargetView::unchosen_branch(const ir::Node& node) const {
  auto condition = number(*node.input(0));
  const ir::Attribute* branch = condition ? node.attribute(*condition != 0 ? "else_branch" : "then_branch") : nullptr;
  const auto* graph = branch ? branch->as<std::shared_ptr<ir::Graph>>() : nullptr;
  return graph ? graph->get() : nullptr;
}

std::optional<double> TargetView::number(const ir::Value& value) const {
  if (const ir::Tensor* constant = value.constant()) {
    if (constant->num_elements() != 1) return std::nullopt;
    try {
      return constant->to_double().front();
    } catch (const Error&) {
      return std::nullopt;  // its data is missing: another rule's business
    }
  }
  const ops::Fact& fact = inferred_.fact(&value);
  return fact.elements && fact.elements->size() == 1 ? fact.elements->front().as_double() : std::nullopt;
}

int64_t TargetView::opset_of(const ir::Node& node, const ir::Function* function) const {
  std::optional<int64_t> imported;
  if (function) {
    for (const ir::OpsetImport& import : function->opset_imports)
      if (import.domain == node.domain()) imported = import.version;
  }
  if (!imported) imported = model_.opset(node.domain());
  if (!imported) return 0;
  const ops::TargetDomain* domain = target_.domain(node.domain());
  return domain ? std::min(*imported, domain->newest) : *imported;
}

// What is inferred inside a body belongs to one call and is not kept: watch it go by.
void TargetView::look_into_functions() {
  auto note = [&](const ir::Value* value, const ops::Fact& fact) {
    std::vector<Met>& list = met_inside_[value];
    Met met = read(fact);
    if (list.size() < kMostMet && std::ranges::find(list, met) == list.end()) list.push_back(met);
  };
  infer::InferOptions options;
  options.after_node = [&](const infer::NodeVisit& visit) {
    if (&ir::root_of(*visit.node.graph()) == model_.graph.get()) return;
    for (size_t i = 0; i < visit.node.inputs().size(); ++i)
      if (const ir::Value* in = visit.node.inputs()[i]) note(in, visit.input(static_cast<int>(i)));
    for (size_t i = 0; i < visit.outputs.size(); ++i)
      if (const ir::Value* out = visit.node.outputs()[i]) note(out, visit.outputs[i]);
  };
  dim::Scope scope;
  infer::infer(model_, scope, options);
}

std::vector<Met> TargetView::met(const ir::Value* value) const {
  auto it = met_inside_.find(value);
  if (it != met_inside_.end()) return it->second;
  return {read(inferred_.fact(value))};
}

}  // namespace thaw::checking
