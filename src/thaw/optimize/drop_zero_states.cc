// States that a recurrence begins with: zeros are what it begins with anyway, of whatever sizes its input has.
#include <algorithm>
#include <map>
#include <string>

#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;  // of a constant that is looked through
constexpr int kMostMoves = 8;

bool is_zero(const ir::Tensor& tensor) {
  if (tensor.data_type == ir::DataType::kString || tensor.num_bytes() > kMostBytes) return false;
  return std::ranges::all_of(tensor.bytes(), [](auto byte) { return static_cast<unsigned char>(byte) == 0; });
}

bool is_zero(const ir::Value* value, int depth);

// ConstantOfShape, by what its entry says.
bool makes_zeros(const ir::Node& node, const ops::Operator& op) {
  if (op.op_class != ops::OpClass::kGenerator || node.inputs().size() != 1 || op.operands[0] != ops::Role::kShape)
    return false;
  const ir::Attribute* given = node.attribute("value");
  if (!given) return true;
  const auto* tensor = given->as<std::shared_ptr<ir::Tensor>>();
  return tensor && *tensor && is_zero(**tensor);
}

// What is moved, and nothing else, is zeros.
bool moves_zeros(const ir::Node& node, const ops::Operator& op, int depth) {
  if (op.op_class != ops::OpClass::kMovement || depth >= kMostMoves) return false;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    const ops::Role role = op.operands[i];
    if (role == ops::Role::kSetting) return false;
    if ((role == ops::Role::kData || role == ops::Role::kWeight) && !is_zero(node.input(i), depth + 1)) return false;
  }
  return true;
}

bool is_zero(const ir::Value* value, int depth) {
  if (const ir::Tensor* tensor = constant_of(value)) return is_zero(*tensor);
  const ir::Node* node = value ? value->producer() : nullptr;
  const ops::Operator* op = node ? ops::registry().find(*node) : nullptr;
  return op && (makes_zeros(*node, *op) || moves_zeros(*node, *op, depth));
}

class Dropper {
 public:
  Dropper(int64_t opset, rewrite::Changes& changes) : opset_(opset), changes_(changes) {}

  int visit(ir::Graph& graph) {
    int count = 0;
    for (ir::Node* node : graph.nodes()) {
      for (ir::Graph* inner : node->subgraphs()) count += visit(*inner);
      if (!node->domain().empty()) continue;
      for (const int i : states_of(*node)) {
        const ir::Value* state = node->input(i);
        if (!state || !is_zero(state, 0)) continue;
        changes_.made.push_back({.kind = "begin with zeros",
                                 .location = node->describe(),
                                 .replaced = {{"'" + state->name() + "'", "what is there without"}}});
        node->set_input(i, nullptr);
        ++count;
      }
    }
    return count;
  }

 private:
  const std::vector<int>& states_of(const ir::Node& node) {
    const auto [position, fresh] = known_.try_emplace(node.op_type());
    if (const auto schema = fresh ? ir::find_schema("", node.op_type(), opset_) : std::nullopt)
      for (size_t i = 0; i < schema->inputs.size(); ++i)
        if (schema->inputs[i] == "initial_h" || schema->inputs[i] == "initial_c")
          position->second.push_back(static_cast<int>(i));
    return position->second;
  }

  int64_t opset_;
  rewrite::Changes& changes_;
  std::map<std::string, std::vector<int>> known_;
};

}  // namespace

int drop_zero_states(Context& context) {
  Dropper dropper(context.model.opset("").value_or(0), context.changes);
  const int count = rewrite::edit_as_one(context, [&] { return dropper.visit(*context.model.graph); });
  if (count > 0) context.look_again();
  return count;
}

}  // namespace thaw::optimizing
