#include "thaw/lift/align/plain_nodes.h"

#include <algorithm>
#include <vector>

#include "thaw/lift/align/folded_pads.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

void drop_idle_attributes(ir::Node& node) {
  constexpr std::string_view kAllowZero = "allowzero";
  if (!node.attribute(kAllowZero) || ops::role_of(node, 1) != ops::Role::kShape) return;
  const ir::Tensor* target = node.input(1) ? node.input(1)->constant() : nullptr;
  if (target && !node.input(1)->is_input() && std::ranges::count(target->to_int64(), 0) == 0)
    node.remove_attribute(kAllowZero);
}

const ir::Tensor* amounts_of(const ir::Node& node) {
  const ir::Value* amounts = node.input(1);
  if (ops::role_of(node, 1) != ops::Role::kPads || !amounts || amounts->is_input()) return nullptr;
  return amounts->constant();
}

bool pads_with_same(const ir::Node& a, const ir::Node& b) {
  const auto value = [](const ir::Node& node) { return node.input(2) ? node.input(2)->constant() : nullptr; };
  if (a.input(3) || b.input(3) || (a.input(2) == nullptr) != (b.input(2) == nullptr)) return false;
  if (a.attribute_string("mode", "constant") != "constant" || b.attribute_string("mode", "constant") != "constant")
    return false;
  return !a.input(2) || (value(a) && value(b) && same_tensor(*value(a), *value(b)));
}

// A Pad of what a Pad gives, which is read by nothing else, pads for both.
void join_pads(ir::Node& node, ir::Graph& graph) {
  ir::Value* data = node.input(0);
  const ir::Tensor* more = amounts_of(node);
  ir::Node* first = data ? data->producer() : nullptr;
  if (!more || !first || data->uses().size() != 1 || data->is_output()) return;
  const ir::Tensor* some = amounts_of(*first);
  if (!some || some->dims != more->dims || !pads_with_same(*first, node)) return;
  std::vector<int64_t> sum = some->to_int64();
  const std::vector<int64_t> rest = more->to_int64();
  const auto negative = [](int64_t pad) { return pad < 0; };
  if (std::ranges::any_of(sum, negative) || std::ranges::any_of(rest, negative)) return;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += rest[i];
  node.set_input(
      1, graph.add_initializer(ir::Tensor::from_int64(graph.unique_name(node.input(1)->name()), some->dims, sum)));
  node.set_input(0, first->input(0));
  graph.remove_node(first);
}

}  // namespace

void write_plainly(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    drop_idle_attributes(*node);
    part_uneven_pads(*node, model);
    join_pads(*node, graph);
  }
}

}  // namespace thaw::lifting
