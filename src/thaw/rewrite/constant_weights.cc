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

std::string describe_replaceable(int count) {
  const std::string_view are = count == 1 ? "weight is also an input that a caller may replace, and stays unchanged"
                                          : "weights are also inputs that a caller may replace, and stay unchanged";
  return fmt::format("{} {}; --constant-weights makes them constants", count, are);
}

std::string describe_taken_weights(int count) {
  if (count == 0) return {};
  return fmt::format("{}; `thaw optimize --constant-weights` removes {} from the inputs\n",
                     count == 1 ? "1 weight is also an input: it counts as a constant"
                                : fmt::format("{} weights are also inputs: they count as constants", count),
                     count == 1 ? "it" : "them");
}

void vary_defaults(ir::Model& model) { model.graph->defaults_vary = count_replaceable(model) > 0; }

std::unordered_set<const ir::Value*> read_defaults(const ir::Model& model) {
  std::unordered_set<const ir::Value*> read;
  for (const ir::Value* input : model.graph->inputs())
    if (input->fixed_constant() && input->is_used()) read.insert(input);
  return read;
}

void drop_unread_defaults(ir::Model& model, const std::unordered_set<const ir::Value*>& were_read) {
  if (were_read.empty()) return;
  const std::vector<ir::Value*> inputs = model.graph->inputs();
  for (ir::Value* input : inputs) {
    if (input->is_used() || !were_read.contains(input)) continue;
    if (input->initializer()) model.graph->remove_initializer(input);
    model.graph->remove_input(input);
  }
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
