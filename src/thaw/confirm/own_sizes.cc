#include "thaw/confirm/own_sizes.h"

#include <algorithm>
#include <optional>

#include "thaw/frozen/frozen.h"

namespace thaw::confirm {

std::map<std::string, int64_t> own_sizes(const ir::Model& model, std::span<const run::InputSpec> inputs,
                                         const dim::Scope& scope) {
  std::map<std::string, int64_t> known;
  dim::Scope of_model;
  for (const auto& [id, size] : frozen::find_frozen(model, of_model).assumed_sizes)
    known[of_model.symbols()[static_cast<size_t>(id)].name] = size;
  for (const run::InputSpec& input : inputs) {
    const ir::Value* value = model.graph->find(input.name);
    if (value == nullptr || !value->type.shape || !input.dims) continue;
    for (size_t axis = 0; axis < std::min(input.dims->size(), value->type.shape->size()); ++axis) {
      const int id = scope.symbol_id((*input.dims)[axis]);
      const std::optional<int64_t> declared = (*value->type.shape)[axis].value;
      // ONNX Runtime takes an axis that is declared 0 as one without elements.
      if (id >= 0 && declared.value_or(-1) >= 0) known[scope.symbols()[static_cast<size_t>(id)].name] = *declared;
    }
  }
  return known;
}

NamedSizes own_input_sizes(const ir::Model& model, std::span<const run::InputSpec> inputs, const dim::Scope& scope) {
  NamedSizes sizes;
  for (const auto& [name, size] : own_sizes(model, inputs, scope)) {
    const auto symbol = scope.find(name);
    const int id = symbol ? scope.symbol_id(*symbol) : -1;
    if (id >= 0 && scope.symbols()[static_cast<size_t>(id)].kind != dim::SymbolKind::kDataDependent)
      sizes.emplace_back(name, size);
  }
  return sizes;
}

}  // namespace thaw::confirm
