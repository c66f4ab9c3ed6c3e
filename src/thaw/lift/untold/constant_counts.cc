#include "thaw/lift/untold/constant_counts.h"

#include <algorithm>
#include <ranges>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

std::vector<dim::Dim> sizes_behind_constant_counts(const Lifting& l) {
  std::vector<dim::Dim> sizes;
  for (const ir::Node* node : l.alignment.nodes.front()) {
    const auto takes = [&](int i) {
      const ops::Role role = ops::role_of(*node, i);
      return node->input(i) && node->input(i)->constant() && (role == ops::Role::kIndex || ops::holds_size(role));
    };
    const auto operands = std::views::iota(1, std::max(1, static_cast<int>(node->inputs().size())));
    const bool is_taken = ops::coordinates_operand(*node) >= 0 || std::ranges::any_of(operands, takes);
    if (!is_taken || node->outputs().empty()) continue;
    const auto data = l.tensor_shapes.find(node->input(0)), made = l.tensor_shapes.find(node->output(0));
    if (data == l.tensor_shapes.end() || made == l.tensor_shapes.end()) continue;
    for (size_t axis = 0; axis < std::min(data->second.size(), made->second.size()); ++axis) {
      const auto count = made->second[axis].constant();
      if (data->second[axis].is_symbolic() && count && *count > 1) sizes.push_back(data->second[axis]);
    }
  }
  return sizes;
}

}  // namespace thaw::lifting
