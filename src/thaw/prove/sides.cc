#include "thaw/prove/sides.h"

#include <algorithm>

namespace thaw::proving {

Sides::Sides(const ir::Model& model, const ir::Model& reference, std::span<const SizeBound> bounds)
    : aligned_(align(model, reference, bounds)) {
  assume(aligned_, scope_);
  const std::array originals{&model, &reference};
  for (size_t i = 0; i < 2; ++i) {
    facts_[i] = std::make_unique<ModelFacts>(*aligned_.models[i], scope_);
    for (const ir::Value* output : originals[i]->graph->outputs()) output_names_[i].push_back(output->name());
  }
}

const ir::Value* Sides::output(size_t side, std::string_view name) const {
  const auto found = std::ranges::find(output_names_[side], name);
  if (found == output_names_[side].end()) return nullptr;
  return aligned_.models[side]->graph->outputs()[static_cast<size_t>(found - output_names_[side].begin())];
}

std::string Sides::name_of(const ir::Value* value, size_t side) const {
  const std::string& name = value->name();
  if (side == 0 || !name.starts_with(aligned_.prefix)) return name;
  std::string bare = name.substr(aligned_.prefix.size());
  return find(bare, side) == value ? bare : name;
}

const ir::Value* Sides::find(const std::string& name, size_t side) const {
  const ir::Graph& graph = *aligned_.models[side]->graph;
  if (const ir::Value* value = graph.find(name)) return value;
  return side == 0 ? nullptr : graph.find(aligned_.prefix + name);
}

}  // namespace thaw::proving
