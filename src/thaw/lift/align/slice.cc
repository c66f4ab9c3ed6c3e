#include "thaw/lift/align/slice.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kToTheEnd = int64_t{1} << 31;  // exporters' way to say "as far as it goes"

std::optional<Slice> slice_of_split(ir::Node& node, int output) {
  std::vector<int64_t> lengths;
  if (node.input(1)) {
    if (const ir::Tensor* tensor = constant_operand(node, 1)) lengths = tensor->to_int64();
  } else {
    const auto attribute = node.attribute_ints("split");
    lengths.assign(attribute.begin(), attribute.end());
  }
  if (lengths.size() != node.outputs().size()) return std::nullopt;
  // No tensor has more; hostile ones would overflow.
  if (std::ranges::any_of(lengths, [](int64_t length) { return length < 0 || length > kToTheEnd; }))
    return std::nullopt;
  const int64_t begin = std::accumulate(lengths.begin(), lengths.begin() + output, int64_t{0});
  return Slice{&node, node.attribute_int("axis", 0), begin, begin + lengths[static_cast<size_t>(output)]};
}

size_t counted(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

}  // namespace

size_t Slice::axis_of(size_t rank) const { return counted(axis, rank); }

std::optional<Slice> written_slice(ir::Node& node) {
  const auto begin = only_integer(node, 1), end = only_integer(node, 2);
  const auto axis = node.input(3) ? only_integer(node, 3) : std::optional<int64_t>(0);
  const auto step = node.input(4) ? only_integer(node, 4) : std::optional<int64_t>(1);
  if (!begin || !end || !axis || step != 1) return std::nullopt;
  return Slice{&node, *axis, *begin, *end};
}

std::optional<Slice> slice_of(const ir::Value& value) {
  ir::Node* node = value.producer();
  if (!node || !node->domain().empty()) return std::nullopt;
  if (node->op_type() == "Split") return slice_of_split(*node, value.producer_index());
  if (ops::role_of(*node, 1) != ops::Role::kBounds) return std::nullopt;
  const auto slice = written_slice(*node);
  return slice && slice->begin >= 0 && slice->end > slice->begin && slice->end < kToTheEnd ? slice : std::nullopt;
}

bool joins_pieces(const ir::Node& node) { return node.op_type() == "Concat" && node.domain().empty(); }

bool joins_along(const ir::Node& node, size_t axis, size_t rank) {
  return joins_pieces(node) && counted(node.attribute_int("axis", 0), rank) == axis;
}

bool gives_bounds(const ir::Node& cut, int input) { return ops::holds_size(ops::role_of(cut, input)); }

}  // namespace thaw::lifting
