#include "thaw/generate/embedder.h"

#include <utility>

namespace thaw::generating {

Array ids_array(const std::vector<int64_t>& ids) {
  return Array::from_int64(ir::DataType::kInt64, {1, static_cast<int64_t>(ids.size())}, ids);
}

Arrays no_features(const ir::Model& embedding) {
  Arrays none;
  for (const ir::Value* input : embedding.graph->inputs()) {
    if (input->name() == kIds || !input->type.shape) continue;
    std::vector<int64_t> dims;
    for (const ir::DeclaredDim& dim : *input->type.shape) dims.push_back(dims.empty() ? 0 : dim.value.value_or(0));
    none.emplace(input->name(), Array::zeros(input->type.elem_type, std::move(dims)));
  }
  return none;
}

Embedder::Embedder(const std::optional<std::filesystem::path>& model, const SessionOptions& options) {
  if (!model) return;
  none_ = no_features(*ir::load(*model));
  session_.emplace(*model, options);
}

Arrays Embedder::run(const std::vector<int64_t>& ids, const Arrays& features) {
  Arrays feeds;
  feeds.emplace(kIds, ids_array(ids));
  if (!session_) return feeds;
  for (const auto& [name, none] : none_) {
    const auto at = features.find(name);
    feeds.emplace(name, at == features.end() ? none : at->second);
  }
  return session_->run(feeds);
}

}  // namespace thaw::generating
