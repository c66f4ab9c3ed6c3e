#include "thaw/run/index_bounds.h"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace thaw::run {
namespace {

// Nodes whose output 0 holds elements of input 0, moved or converted.
bool moves_elements(const ir::Node& node) {
  static constexpr std::array<std::string_view, 10> kOps{"Cast",      "Identity", "Reshape", "Flatten", "Squeeze",
                                                         "Unsqueeze", "Expand",   "Slice",   "Tile",    "Transpose"};
  if (!node.domain().empty()) return false;
  for (std::string_view op : kOps) {
    if (node.op_type() == op) return true;
  }
  return false;
}

// The size of a table along an axis, where it is a constant, possibly seen through a dequantization.
std::optional<int64_t> table_rows(const ir::Value* table, int64_t axis) {
  for (int depth = 0; table != nullptr && depth < 4; ++depth) {
    if (const ir::Tensor* constant = table->constant()) {
      const auto rank = static_cast<int64_t>(constant->dims.size());
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return std::nullopt;
      return constant->dims[static_cast<size_t>(axis)];
    }
    const ir::Node* producer = table->producer();
    const bool keeps_shape =
        producer != nullptr && (producer->op_type() == "DequantizeLinear" || producer->op_type() == "Cast" ||
                                producer->op_type() == "Identity");
    table = keeps_shape ? producer->input(0) : nullptr;
  }
  return std::nullopt;
}

// The rows of the table that input `index` of the node selects from.
std::optional<int64_t> rows_selected(const ir::Node& node, int index) {
  const std::string& op = node.op_type();
  if ((op == "Gather" || op == "GatherElements") && index == 1) {
    return table_rows(node.input(0), node.attribute_int("axis", 0));
  }
  if (op == "GatherBlockQuantized" && index == 1)
    return table_rows(node.input(0), node.attribute_int("gather_axis", 0));
  if (op == "OneHot" && index == 0 && node.input(1) != nullptr) {
    const ir::Tensor* depth = node.input(1)->constant();
    if (depth == nullptr || !ir::is_integer(depth->data_type) || depth->num_elements() != 1) return std::nullopt;
    return depth->to_int64()[0];
  }
  // Word ids, segment ids; then their tables, the position's between them.
  if (op == "EmbedLayerNormalization" && index == 0) return table_rows(node.input(2), 0);
  if (op == "EmbedLayerNormalization" && index == 1) return table_rows(node.input(4), 0);
  return std::nullopt;
}

}  // namespace

std::map<std::string, int64_t> index_bounds(const ir::Graph& graph) {
  std::map<std::string, int64_t> bounds;
  for (const ir::Value* input : graph.inputs()) {
    if (input->type.kind != ir::Type::Kind::kTensor || !ir::is_integer(input->type.elem_type)) continue;
    std::vector<const ir::Value*> waiting{input};
    std::unordered_set<const ir::Value*> seen{input};
    std::optional<int64_t> smallest;
    while (!waiting.empty()) {
      const ir::Value* value = waiting.back();
      waiting.pop_back();
      for (const ir::Use& use : value->uses()) {
        if (const auto rows = rows_selected(*use.node, use.index); rows && *rows > 0) {
          if (!smallest || *rows < *smallest) smallest = rows;
        }
        if (use.index != 0 || !moves_elements(*use.node)) continue;
        const ir::Value* moved = use.node->output(0);
        if (moved != nullptr && seen.insert(moved).second) waiting.push_back(moved);
      }
    }
    if (smallest) bounds.emplace(input->name(), *smallest);
  }
  return bounds;
}

}  // namespace thaw::run
