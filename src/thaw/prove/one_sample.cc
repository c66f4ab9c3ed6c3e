#include "thaw/prove/one_sample.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace thaw::proving {
namespace {

bool has_one_axis_more(const ir::Value* value, const ir::Value* than) {
  return value && value->type.shape && than->type.shape && value->type.shape->size() == than->type.shape->size() + 1;
}

// Squeezes or unsqueezes the first axis.
void add_view(ir::Model& model, const char* op, ir::Value* from, ir::Value* to, ir::Node* before) {
  constexpr int64_t kAxesAreAnInput = 13;  // since this opset
  constexpr std::array<int64_t, 1> kFirst{0};
  std::vector<ir::Value*> inputs{from};
  const bool has_input = model.opset("").value_or(1) >= kAxesAreAnInput;
  if (has_input)
    inputs.push_back(
        model.graph->add_initializer(ir::Tensor::from_int64(model.graph->unique_name("first axis"), {1}, kFirst)));
  ir::Node* node = model.graph->add_node(op, "", inputs, {to}, {}, before);
  if (!has_input) node->set_attribute({"axes", std::vector<int64_t>{0}});
}

}  // namespace

std::unique_ptr<ir::Model> as_batch_of_one(const ir::Model& original, const ir::Model& batched) {
  std::unique_ptr<ir::Model> model = ir::clone(original);
  ir::Graph& graph = *model->graph;
  for (ir::Value* input : std::vector(graph.inputs())) {
    const ir::Value* many = batched.graph->find(input->name());
    if (!many || !many->is_input() || !has_one_axis_more(many, input)) continue;
    const std::string name = input->name();
    ir::Type type = input->type;
    type.shape->insert(type.shape->begin(), ir::DeclaredDim{1, {}, {}});
    graph.rename(input, graph.unique_name(name + " of a sample"));
    ir::Value* sample = graph.add_value(graph.unique_name(name + " without a batch"));
    ir::Node* first = graph.nodes().empty() ? nullptr : graph.nodes().front();
    graph.replace_uses(input, sample);
    add_view(*model, "Squeeze", graph.add_input(name, std::move(type)), sample, first);
    graph.remove_input(input);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ir::Value* output = graph.outputs()[i];
    const std::string name = output->name();
    const ir::Value* many = batched.graph->find(name);
    if (!many || !many->is_output() || !has_one_axis_more(many, output)) continue;
    graph.rename(output, graph.unique_name(name + " of a sample"));
    ir::Value* whole = graph.add_value(name);
    add_view(*model, "Unsqueeze", output, whole, nullptr);
    graph.set_output(static_cast<int>(i), whole);
  }
  return model;
}

}  // namespace thaw::proving
