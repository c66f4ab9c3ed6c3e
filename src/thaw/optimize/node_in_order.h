// What a node becomes whose operands come with their axes in another order, by the operator's map of axes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/ops/rule/node_view.h"

namespace thaw::optimizing {

// Axes of another tensor in the order in which this one has them: a Transpose's perm.
using Order = std::vector<int64_t>;

bool is_in_place(const Order& order);
Order inverse(const Order& order);
Order composed(const Order& first, const Order& second);  // of a Transpose by the first, then by the second

struct NodeInOrder {
  std::vector<bool> takes;                                  // operands that come in the other order; the rest stay
  std::vector<std::pair<int, std::vector<int64_t>>> lists;  // operands that name axes, or hold a number for each
  std::vector<ir::Attribute> attributes;                    // those that name axes
  std::vector<Order> results;                               // each result is a Transpose of the node's output then
};

// Of a node whose operands are Transposes by `order` and are to be what they transpose. nullopt where the operator cares which axis
// is which and is unknown, and where it would add floats in another order.
std::optional<NodeInOrder> node_in_order(ops::NodeView& view, const Order& order);

}  // namespace thaw::optimizing
