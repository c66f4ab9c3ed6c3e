#include "thaw/prove/expand_calls.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/ir/graph/function_calls.h"

namespace thaw::proving {
namespace {

constexpr uint64_t kVisitsOfNode = 8;  // a node that is written

bool is_plain(const ir::Model& model, const ir::Function& function) {
  for (const ir::OpsetImport& import : function.opset_imports)
    if (model.opset(import.domain) != import.version) return false;
  if (!function.body->initializers().empty() || !function.body->sparse_initializers().empty()) return false;
  return std::ranges::all_of(function.body->nodes(), [](const ir::Node* node) { return node->subgraphs().empty(); });
}

// Whether each result of the call has a value: a function may return an operand that the call leaves out.
bool fits(const ir::Node& call, const ir::Function& function) {
  const auto& results = function.body->outputs();
  const auto& formal = function.body->inputs();
  if (!call.subgraphs().empty() || call.outputs().size() > results.size()) return false;
  return std::ranges::all_of(results, [&](const ir::Value* result) {
    const auto at = std::ranges::find(formal, result);
    return at == formal.end() || call.input(static_cast<int>(at - formal.begin())) != nullptr;
  });
}

// What an attribute of the body is in this call; null where it is left out.
const ir::Attribute* given_attribute(const ir::Function& function, const ir::Node& call,
                                     const ir::Attribute& attribute) {
  if (attribute.ref_attr_name.empty()) return &attribute;
  if (const ir::Attribute* given = call.attribute(attribute.ref_attr_name)) return given;
  const auto found = std::ranges::find(function.attribute_defaults, attribute.ref_attr_name, &ir::Attribute::name);
  return found == function.attribute_defaults.end() ? nullptr : &*found;
}

// Writes the body before the call, whose readers then read its results.
void expand_call(ir::Graph& graph, ir::Node& call, const ir::Function& function) {
  std::unordered_map<const ir::Value*, ir::Value*> actual;
  const auto& formal = function.body->inputs();
  for (size_t i = 0; i < formal.size(); ++i) actual[formal[i]] = call.input(static_cast<int>(i));
  for (const ir::Node* node : function.body->nodes()) {
    std::vector<ir::Value*> inputs, outputs;
    for (const ir::Value* input : node->inputs()) inputs.push_back(input ? actual.at(input) : nullptr);
    for (const ir::Value* output : node->outputs()) {
      outputs.push_back(output ? graph.add_value(graph.unique_name(output->name())) : nullptr);
      if (output) actual[output] = outputs.back();
    }
    ir::Node* copy = graph.add_node(node->op_type(), node->domain(), inputs, outputs, node->name, &call);
    for (const ir::Attribute& attribute : node->attributes()) {
      const ir::Attribute* given = given_attribute(function, call, attribute);
      if (!given) continue;
      ir::Attribute resolved = *given;
      resolved.name = attribute.name;
      copy->set_attribute(std::move(resolved));
    }
  }
  for (size_t i = 0; i < call.outputs().size(); ++i) {
    ir::Value* before = call.outputs()[i];
    if (before) graph.replace_uses(before, actual.at(function.body->outputs()[i]));
  }
  graph.remove_node(&call);
}

}  // namespace

void expand_calls(ir::Model& model) {
  if (model.functions.empty()) return;
  ir::refuse_recursion(model);
  std::vector<ir::Node*> open(model.graph->nodes().begin(), model.graph->nodes().end());
  while (!open.empty()) {
    ir::Node* call = open.back();
    open.pop_back();
    const ir::Function* function = model.find_function(call->domain(), call->op_type(), call->overload());
    if (!function || !is_plain(model, *function)) continue;
    if (!fits(*call, *function)) continue;
    if (!model.budget->spend(kVisitsOfNode * (1 + function->body->num_nodes())))
      model.budget->require(call->describe());
    const ir::Node* before = model.graph->previous(call);
    const ir::Node* after = model.graph->next(call);
    expand_call(*model.graph, *call, *function);
    // What was written may call functions itself.
    for (ir::Node* node = before ? model.graph->next(before) : model.graph->nodes().front(); node && node != after;
         node = model.graph->next(node))
      open.push_back(node);
  }
}

}  // namespace thaw::proving
