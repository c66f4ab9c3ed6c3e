#include "thaw/confirm/fed_items.h"

#include <algorithm>
#include <string>
#include <vector>

namespace thaw::confirm {
namespace {

constexpr int kItems = 3;

bool is_of_tensors(const ir::Value* input) {
  const ir::Type& type = input->type;
  return type.kind == ir::Type::Kind::kSequence && type.element && type.element->kind == ir::Type::Kind::kTensor;
}

void feed_by_items(ir::Model& model, ir::Value* sequence) {
  ir::Graph& graph = *model.graph;
  ir::Node* const first = graph.nodes().empty() ? nullptr : graph.nodes().front();
  const std::string stem = sequence->name() + "/";
  std::vector<ir::Value*> items;
  for (int i = 0; i < kItems; ++i)
    items.push_back(graph.add_input(graph.unique_name(stem + std::to_string(i)), *sequence->type.element));
  ir::Value* sequence_of_items = graph.add_value(graph.unique_name(stem + "items"));
  graph.add_node("SequenceConstruct", "", items, {sequence_of_items}, {}, first);
  graph.replace_uses(sequence, sequence_of_items);
  graph.remove_input(sequence);
}

}  // namespace

bool takes_sequences(const ir::Model& model) { return std::ranges::any_of(model.graph->inputs(), is_of_tensors); }

std::unique_ptr<ir::Model> fed_by_items(const ir::Model& model) {
  std::unique_ptr<ir::Model> fed = ir::clone(model);
  const std::vector<ir::Value*> inputs = fed->graph->inputs();
  for (ir::Value* input : inputs)
    if (is_of_tensors(input)) feed_by_items(*fed, input);
  return fed;
}

}  // namespace thaw::confirm
