#include "thaw/rewrite/inline_call.h"

#include <algorithm>

#include "thaw/rewrite/splice.h"

namespace thaw::rewrite {
namespace {

bool has_same_opsets(ir::Model& model, const ir::Function& function) {
  return std::all_of(function.opset_imports.begin(), function.opset_imports.end(), [&](const ir::OpsetImport& import) {
    const auto version = model.opset(import.domain);
    if (!version) model.opset_imports.push_back(import);
    return !version || *version == import.version;
  });
}

// Attributes that stand for the function's take the call's value, else the function's default; else they go.
void resolve_attributes(ir::Graph& graph, const ir::Function& function, const ir::Node& call) {
  for (ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) resolve_attributes(*inner, function, call);
    const auto attributes = node->attributes();
    for (const ir::Attribute& attribute : std::vector(attributes.begin(), attributes.end())) {
      if (attribute.ref_attr_name.empty()) continue;
      const auto& defaults = function.attribute_defaults;
      const ir::Attribute* given = call.attribute(attribute.ref_attr_name);
      if (!given) {
        const auto found = std::find_if(defaults.begin(), defaults.end(), [&](const ir::Attribute& otherwise) {
          return otherwise.name == attribute.ref_attr_name;
        });
        if (found != defaults.end()) given = &*found;
      }
      const std::string name = attribute.name;
      if (given) {
        ir::Attribute resolved = *given;
        resolved.name = name;
        node->set_attribute(std::move(resolved));
      } else {
        node->remove_attribute(name);
      }
    }
  }
}

void replace_formals(ir::Graph& body, const ir::Node& call) {
  for (int i = 0; !body.inputs().empty(); ++i) {
    ir::Value* formal = body.inputs().front();
    if (ir::Value* actual = call.input(i)) {
      body.replace_uses(formal, actual);
    } else {
      for (const ir::Use use : std::vector<ir::Use>(formal->uses().begin(), formal->uses().end()))
        use.node->set_input(use.index, nullptr);
    }
    body.remove_input(formal);
  }
}

// What a node takes in memory, about, and how many visits it is worth to write one.
constexpr uint64_t kBytesOfNode = 2048, kVisitsOfNode = 8;

}  // namespace
bool inline_call(ir::Model& model, ir::Node* call) {
  const ir::Function* function = model.find_function(call->domain(), call->op_type(), call->overload());
  if (!function || !has_same_opsets(model, *function)) return false;
  // Functions that call functions twice double with every level.
  const size_t nodes = 1 + function->body->num_nodes();
  if (!model.budget->spend(kVisitsOfNode * nodes) || !model.budget->hold(kBytesOfNode * nodes))
    model.budget->require(call->describe());
  std::shared_ptr<ir::Graph> body = ir::clone(*function->body);
  resolve_attributes(*body, *function, *call);
  // As a subgraph of the call it sees the values around it.
  call->set_attribute({"inlined_body", body});
  replace_formals(*body, *call);
  if (!can_splice(*body)) {
    call->remove_attribute("inlined_body");
    return false;
  }
  splice(*body, call, name_of(*call));
  replace_node(call, body->outputs());
  return true;
}

}  // namespace thaw::rewrite
