#include "thaw/optimize/attention/packed.h"

#include <algorithm>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

// One position along an axis of a Transpose: Gather of a number, or a part of a Split of ones and a Squeeze.
struct TransposedPart {
  const ir::Node* transpose = nullptr;
  int64_t axis = 0, position = 0;  // of the Transpose's result
};

std::optional<int64_t> one_axis(const ir::Node& node) {
  const ir::Tensor* axes = constant_of(node.input(1));
  if (axes)
    return axes->num_elements() == 1 && ir::is_integer(axes->data_type) ? std::optional(axes->to_int64().front())
                                                                        : std::nullopt;
  const auto given = node.attribute_ints("axes");
  return given.size() == 1 ? std::optional(given.front()) : std::nullopt;
}

std::optional<TransposedPart> transposed_part(const Shaped& x) {
  TransposedPart part;
  const int64_t rank = x.rank() + 1;
  if (const ir::Node* gather = producer_of(x.value, "Gather")) {
    const ir::Tensor* position = constant_of(gather->input(1));
    if (!position || !position->dims.empty() || !ir::is_integer(position->data_type)) return std::nullopt;
    part.transpose = producer_of(gather->input(0), "Transpose");
    part.axis = gather->attribute_int("axis", 0);
    part.position = position->to_int64().front();
  } else if (const ir::Node* squeeze = producer_of(x.value, "Squeeze")) {
    const ir::Value* value = squeeze->input(0);
    const ir::Node* split = value ? value->producer() : nullptr;
    const auto axis = one_axis(*squeeze);
    if (!split || split->op_type() != "Split" || !split->domain().empty() || !axis) return std::nullopt;
    part.transpose = producer_of(split->input(0), "Transpose");
    part.axis = split->attribute_int("axis", 0);
    part.position = value->producer_index();
    const ir::Tensor* sizes = constant_of(split->input(1));
    const auto is_one = [](int64_t size) { return size == 1; };
    if (!sizes || !std::ranges::all_of(sizes->to_int64(), is_one) || (*axis + rank) % rank != (part.axis + rank) % rank)
      return std::nullopt;
  }
  part.axis = (part.axis + rank) % rank;
  const bool has_all = part.transpose && static_cast<int64_t>(part.transpose->attribute_ints("perm").size()) == rank;
  return has_all ? std::optional(part) : std::nullopt;
}

}  // namespace

bool has_positions_first(const Shaped& x) {
  // Of one batch whose axis was put before heads that were transposed: the Transpose moves behind that.
  const ir::Node* batched = producer_of(x.value, "Unsqueeze");
  return producer_of(x.value, "Transpose") || transposed_part(x) ||
         (batched && producer_of(batched->input(0), "Transpose"));
}

ir::Value* with_positions_first(const ops::Emit& at, const Shaped& x) {
  const auto part = transposed_part(x);
  if (!part) return transposed(at, x, {0, 2, 1, 3}).value;
  // The part of what was transposed; then its other axes, in the places that they have there.
  const auto permutation = part->transpose->attribute_ints("perm");
  const int64_t axis = permutation[static_cast<size_t>(part->axis)];
  ir::Value* taken = at.emit("Gather", {part->transpose->input(0), at.integer(part->position)}, {{"axis", axis}});
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(permutation.size()); ++i) {
    const int64_t from = permutation[static_cast<size_t>(i)];
    if (i != part->axis) order.push_back(from > axis ? from - 1 : from);
  }
  std::swap(order[1], order[2]);
  return std::ranges::is_sorted(order) ? taken : at.transpose(taken, order);
}

}  // namespace thaw::optimizing
