#include "thaw/rewrite/constant_weights.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace thaw::rewrite {
namespace {

constexpr int64_t kFirstOfDefaults = 4;  // IR version; before, what stands among the inputs may be a constant

ir::Type type_of(const ir::Tensor& tensor) {
  ir::Type type = ir::Type::tensor(tensor.data_type);
  auto& shape = type.shape.emplace();
  for (const int64_t size : tensor.dims) shape.push_back({size, {}, {}});
  return type;
}

}  // namespace

int count_replaceable(const ir::Model& model) {
  if (model.ir_version < kFirstOfDefaults) return 0;
  return static_cast<int>(std::ranges::count_if(model.graph->inputs(), [](ir::Value* v) { return v->constant(); }));
}

std::string told_replaceable(int count) {
  const std::string_view are = count == 1 ? "weight is an input too, which a caller may replace, and stays as it is"
                                          : "weights are inputs too, which a caller may replace, and stay as they are";
  return fmt::format("{} {}; --constant-weights makes constants of them", count, are);
}

int make_weights_constants(ir::Model& model) {
  if (model.ir_version <= 0) return 0;
  int count = 0;
  const std::vector<ir::Value*> inputs = model.graph->inputs();
  for (ir::Value* input : inputs) {
    if (!input->constant()) continue;
    model.graph->remove_input(input);
    ++count;
  }
  model.ir_version = std::max(model.ir_version, kFirstOfDefaults);
  return count;
}

void list_initializers(ir::Model& model, const std::unordered_set<const ir::Value*>& known) {
  if (model.ir_version <= 0 || model.ir_version >= kFirstOfDefaults) return;
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
