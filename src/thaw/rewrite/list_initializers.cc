#include "thaw/rewrite/list_initializers.h"

#include <vector>

namespace thaw::rewrite {

namespace {

constexpr int64_t kFirstWithout = 4;

ir::Type type_of(const ir::Tensor& tensor) {
  ir::Type type = ir::Type::tensor(tensor.data_type);
  auto& shape = type.shape.emplace();
  for (const int64_t size : tensor.dims) shape.push_back({size, {}, {}});
  return type;
}

}  // namespace

void list_initializers(ir::Model& model, const std::unordered_set<const ir::Value*>& known) {
  if (model.ir_version <= 0 || model.ir_version >= kFirstWithout) return;
  ir::Graph& graph = *model.graph;
  const std::vector<ir::Value*> initializers = graph.initializers();
  for (ir::Value* value : initializers) {
    if (known.contains(value) || value->is_input()) continue;
    const std::string name = value->name();
    ir::Value* input = graph.add_input(graph.unique_name(name + "_input"), type_of(*value->initializer()));
    graph.replace_initializer(input, *value->initializer());
    graph.replace_uses(value, input);
    graph.remove_initializer(value);
    graph.rename(input, name);
  }
}

}  // namespace thaw::rewrite
