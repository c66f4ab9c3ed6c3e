#include "thaw/infer/size_names.h"

namespace thaw::infer {

dim::SizeNames size_names(const ir::Model& model, const Result& facts, const dim::Scope& scope) {
  std::vector<dim::InputSizes> inputs;
  for (const ir::Value* input : model.graph->inputs()) {
    dim::InputSizes& of = inputs.emplace_back();
    of.name = input->name();
    of.holds_integers = ir::is_integer(input->type.elem_type);
    of.dims = facts.fact(input).shape;
  }
  return {scope, std::move(inputs)};
}

}  // namespace thaw::infer
