#include "thaw/rewrite/supported_types.h"

#include <map>
#include <string_view>
#include <utility>

#include "thaw/ir/graph/schema.h"

namespace thaw::rewrite {
namespace {

using ir::OperandTypes;

class TypeCheck {
 public:
  TypeCheck(const infer::Result& facts, int64_t from, int64_t to) : facts_(facts), from_(from), to_(to) {}

  std::optional<UnsupportedType> look_in(const ir::Graph& graph) {
    for (const ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs())
        if (auto found = look_in(*inner)) return found;
      if (!node->domain().empty()) continue;
      if (const ir::DataType type = not_taken(*node); type != ir::DataType::kUndefined)
        return UnsupportedType{node, "it takes no " + std::string(ir::name_of(type)) + " there"};
    }
    return std::nullopt;
  }

 private:
  const std::optional<OperandTypes>& types_of(const ir::Node& node, int64_t opset) {
    const auto [location, fresh] = known_.try_emplace({node.op_type(), opset});
    if (fresh) location->second = ir::find_operand_types("", node.op_type(), opset);
    return location->second;
  }

  ir::DataType not_taken(const ir::Node& node) {
    const auto &before = types_of(node, from_), &after = types_of(node, to_);
    if (!after) return ir::DataType::kUndefined;  // ONNX Runtime's own, which it registers in ONNX's domain
    const auto misses = [&](const ir::Value* value, std::string_view was, std::string_view is) {
      if (!value || is.empty()) return false;
      const ops::Fact& fact = facts_.fact(value);
      if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined || after->takes(is, fact.dtype)) return false;
      return !before || was.empty() || before->takes(was, fact.dtype);
    };
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (misses(node.inputs()[i], before ? before->input(i) : std::string_view(), after->input(i)))
        return facts_.fact(node.inputs()[i]).dtype;
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (misses(node.outputs()[i], before ? before->output(i) : std::string_view(), after->output(i)))
        return facts_.fact(node.outputs()[i]).dtype;
    return ir::DataType::kUndefined;
  }

  const infer::Result& facts_;
  int64_t from_, to_;
  std::map<std::pair<std::string, int64_t>, std::optional<OperandTypes>> known_;
};

}  // namespace

std::optional<UnsupportedType> find_unsupported_type(const ir::Graph& graph, const infer::Result& facts, int64_t from,
                                                     int64_t to) {
  return TypeCheck(facts, from, to).look_in(graph);
}

}  // namespace thaw::rewrite
