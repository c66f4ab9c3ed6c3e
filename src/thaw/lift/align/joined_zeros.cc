#include "thaw/lift/align/joined_zeros.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/slice.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostZeros = int64_t{1} << 20;

bool is_all_zero(const ir::Tensor& tensor) {
  if (!ir::is_floating(tensor.data_type) || tensor.num_elements() > kMostZeros) return false;
  return std::ranges::all_of(tensor.to_double(), [](double entry) { return entry == 0; });
}

// The sizes of zeros: of a constant, or of what fills a shape with one.
std::optional<std::vector<int64_t>> sizes_of_zeros(const ir::Value* value) {
  if (!value || value->is_input()) return std::nullopt;
  if (const ir::Tensor* tensor = value->constant())
    return is_all_zero(*tensor) ? std::optional(tensor->dims) : std::nullopt;
  const ir::Node* node = value->producer();
  const ops::Operator* entry = node ? ops::registry().find(*node) : nullptr;
  if (!entry || entry->op_class != ops::OpClass::kGenerator || ops::role_of(*node, 0) != ops::Role::kShape)
    return std::nullopt;
  const ir::Tensor* sizes = constant_operand(*node, 0);
  if (!sizes || node->inputs().size() != 1) return std::nullopt;
  if (const ir::Attribute* fill = node->attribute("value")) {
    const auto* tensor = fill->as<std::shared_ptr<ir::Tensor>>();
    if (!tensor || !is_all_zero(**tensor)) return std::nullopt;
  }
  return sizes->to_int64();
}

// How much is joined before and after the one operand that is no zeros, and which that is.
struct Joined {
  ir::Value* data = nullptr;
  size_t rank = 0, axis = 0;
  int64_t before = 0, after = 0;
};

std::optional<Joined> joined_zeros(const ir::Node& node) {
  if (!joins_pieces(node) || node.inputs().size() < 2 || node.output(0)->is_output()) return std::nullopt;
  const int64_t axis = node.attribute_int("axis", 0);
  Joined joined;
  for (ir::Value* operand : node.inputs()) {
    const auto sizes = sizes_of_zeros(operand);
    if (!sizes && joined.data) return std::nullopt;
    if (!sizes) {
      joined.data = operand;
      continue;
    }
    joined.rank = sizes->size();
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(sizes->size()) : axis;
    if (at < 0 || at >= static_cast<int64_t>(sizes->size())) return std::nullopt;
    joined.axis = static_cast<size_t>(at);
    (joined.data ? joined.after : joined.before) += (*sizes)[joined.axis];
  }
  return joined.data ? std::optional(joined) : std::nullopt;
}

}  // namespace

void write_joined_zeros_as_pads(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  const std::vector<ir::Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  bool any = false;
  for (ir::Node* node : nodes) {
    if (node->constant()) continue;
    const auto joined = joined_zeros(*node);
    if (!joined) continue;
    std::vector<int64_t> amounts(2 * joined->rank, 0);
    amounts[joined->axis] = joined->before;
    amounts[joined->rank + joined->axis] = joined->after;
    const std::string& name = node->output(0)->name();
    ir::Value* pads = graph.add_initializer(
        ir::Tensor::from_int64(graph.unique_name(name + "_pads"), {static_cast<int64_t>(amounts.size())}, amounts));
    ir::Value* padded = graph.add_value(graph.unique_name(name + "_padded"));
    graph.add_node("Pad", "", {joined->data, pads}, {padded}, node->name, node);
    graph.replace_uses(node->output(0), padded);
    any = true;
  }
  if (any) rewrite::remove_unused(model);
}

}  // namespace thaw::lifting
