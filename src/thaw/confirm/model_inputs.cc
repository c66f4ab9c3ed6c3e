#include "thaw/confirm/model_inputs.h"

#include <map>
#include <string>

#include "thaw/infer/index_bounds.h"
#include "thaw/infer/infer.h"

namespace thaw::confirm {

std::vector<run::InputSpec> model_inputs(const ir::Model& model, dim::Scope& scope) {
  const infer::Result facts = infer::infer(model, scope);
  const std::map<std::string, int64_t> bounds = infer::index_bounds(model, facts);
  std::vector<run::InputSpec> inputs;
  for (const ir::Value* value : model.graph->inputs()) {
    run::InputSpec& input = inputs.emplace_back();
    input.name = value->name();
    input.kind = value->type.kind;
    input.dtype = value->type.elem_type;
    if (input.kind == ir::Type::Kind::kOptional && value->type.element) input.dtype = value->type.element->elem_type;
    input.dims = facts.fact(value).shape;
    input.has_default = value->initializer() != nullptr || value->sparse_initializer() != nullptr;
    if (const auto bound = bounds.find(input.name); bound != bounds.end()) input.index_bound = bound->second;
  }
  return inputs;
}

}  // namespace thaw::confirm
