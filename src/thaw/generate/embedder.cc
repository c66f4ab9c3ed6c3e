#include "thaw/generate/embedder.h"

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"

namespace thaw::generating {
namespace {

constexpr const char* kIds = "input_ids";

}  // namespace

Embedder::Embedder(const std::optional<std::filesystem::path>& model, const SessionOptions& options) {
  if (!model) return;
  const auto loaded = ir::load(*model);
  for (const ir::Value* input : loaded->graph->inputs()) {
    if (input->name() == kIds || !input->type.shape) continue;
    std::vector<int64_t> dims;
    for (const ir::DeclaredDim& dim : *input->type.shape) dims.push_back(dims.empty() ? 0 : dim.value.value_or(0));
    none_.emplace(input->name(), Array::zeros(input->type.elem_type, std::move(dims)));
  }
  session_.emplace(*model, options);
}

Arrays Embedder::run(const std::vector<int64_t>& ids, const Arrays& features) {
  Arrays feeds;
  feeds.emplace(kIds, Array::from_int64(ir::DataType::kInt64, {1, static_cast<int64_t>(ids.size())}, ids));
  if (!session_) return feeds;
  for (const auto& [name, none] : none_) {
    const auto at = features.find(name);
    feeds.emplace(name, at == features.end() ? none : at->second);
  }
  return session_->run(feeds);
}

}  // namespace thaw::generating
