#include "thaw/quant/half/widened.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing {
namespace {

constexpr auto kFloat = static_cast<int64_t>(ir::DataType::kFloat);

class Widener {
 public:
  Widener(ir::DataType type, const infer::Result& facts, const MissingKernels& missing)
      : type_(type), facts_(facts), missing_(missing) {}

  void widen(ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      if (made_.contains(node)) continue;
      const ops::Operator* op = ops::registry().find(*node);
      if ((op && op->converts) || node->constant()) continue;
      for (ir::Graph* inner : node->subgraphs()) widen(*inner);
      if (!missing_.has(*node)) continue;
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
        if (ir::Value* value = node->input(i); value && is_narrow(value))
          node->set_input(i, cast(graph, *value, kFloat, node));
      bool is_wide = false;
      for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
        if (ir::Value* value = node->output(i); value && is_narrow(value)) {
          is_wide = true;
          round(graph, *value, graph.next(node));
        }
      if (is_wide) widen_attributes(*node);
    }
  }

 private:
  bool is_narrow(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    return rounded_.contains(value) || (fact.is_tensor() && fact.dtype == type_);
  }

  // What a node makes is float32 now; all that read it read what that rounds to.
  void round(ir::Graph& graph, ir::Value& value, ir::Node* before) {
    const std::string name = value.name();
    ir::Value* narrow = graph.add_value(graph.unique_name(name + "_rounded"));
    const ir::Type type = value.type;
    graph.replace_uses(&value, narrow);
    ir::Node* node = graph.add_node("Cast", "", {&value}, {narrow}, graph.unique_name("round_Cast"), before);
    node->set_attribute({.name = "to", .value = static_cast<int64_t>(type_)});
    graph.clear_value_info(&value);
    value.set_type({});
    graph.rename(&value, graph.unique_name(name + "_f32"));
    graph.rename(narrow, name);
    if (narrow->is_output()) narrow->set_type(type);
    rounded_.insert(narrow);
    made_.insert(node);
  }

  static void widen_attributes(ir::Node& node) {
    for (const char* name : {"dtype", "output_dtype", "output_datatype"})
      if (node.attribute(name)) node.set_attribute({.name = name, .value = kFloat});
    const ir::Attribute* value = node.attribute("value");
    const auto* tensor = value ? value->as<std::shared_ptr<ir::Tensor>>() : nullptr;
    if (!tensor) return;
    const std::vector<double> numbers = (*tensor)->to_double();
    const std::vector<float> floats(numbers.begin(), numbers.end());
    node.set_attribute(
        {.name = "value", .value = std::make_shared<ir::Tensor>(ir::Tensor::from_float("", (*tensor)->dims, floats))});
  }

  ir::Value* cast(ir::Graph& graph, ir::Value& value, int64_t to, ir::Node* before) {
    ir::Value* wide = graph.add_value(graph.unique_name(value.name() + "_f32"));
    ir::Node* node = graph.add_node("Cast", "", {&value}, {wide}, graph.unique_name("widen_Cast"), before);
    node->set_attribute({.name = "to", .value = to});
    made_.insert(node);
    return wide;
  }

  ir::DataType type_;
  const infer::Result& facts_;
  const MissingKernels& missing_;
  std::unordered_set<const ir::Node*> made_;
  std::unordered_set<const ir::Value*> rounded_;
};

}  // namespace

void compute_in_float32(ir::Model& model, ir::DataType type, const MissingKernels& missing) {
  if (!missing.are_all && missing.of.empty()) return;
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  Widener(type, facts, missing).widen(*model.graph);
}

}  // namespace thaw::quantizing
