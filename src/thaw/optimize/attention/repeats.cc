// Heads of keys and values that are repeated for the queries that share them: Unsqueeze, Expand and Reshape, Tile, Concat,
// or Gather. Head i serves the queries' heads i * group to (i + 1) * group - 1; in another order it is no such thing.
#include <algorithm>

#include "thaw/optimize/attention/heads.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

bool are_alike_but_at(const Shaped& a, const Shaped& b, int axis) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (i != axis && !dim::same(a.dim(i), b.dim(i))) return false;
  return true;
}

// What a value is `count` times along an axis of which it has one itself; nullopt where it is no such thing.
std::optional<Shaped> spread_along(const Shaped& x, int axis, const infer::Inference& facts) {
  const ir::Node* node = x.value->producer();
  if (!node || !node->domain().empty() || !node->input(0)) return std::nullopt;
  auto from = shaped(node->input(0), facts);
  if (!from || !are_alike_but_at(*from, x, axis) || !from->dim(axis).is_constant(1)) return std::nullopt;
  if (node->op_type() == "Expand" || node->op_type() == "Tile") return from;
  if (node->op_type() != "Concat") return std::nullopt;
  const int64_t along = node->attribute_int("axis", 0);
  const bool is_same = std::ranges::all_of(node->inputs(), [&](const ir::Value* part) { return part == from->value; });
  return is_same && (along == axis || along + x.rank() == axis) ? from : std::nullopt;
}

// Reshape of [..., heads, group, ...], of which the group was spread.
std::optional<Shaped> merged_groups(const Shaped& x, int axis, const infer::Inference& facts, const ops::Emit& at) {
  const ir::Node* reshape = producer_of(x.value, "Reshape");
  const auto apart = reshape ? shaped(reshape->input(0), facts) : std::nullopt;
  if (!apart || apart->rank() != x.rank() + 1 || !apart->dim(axis).is_constant() || !apart->dim(axis + 1).is_constant())
    return std::nullopt;
  Shaped merged = *apart;
  merged.dims.erase(merged.dims.begin() + axis + 1);
  merged.dims[static_cast<size_t>(axis)] = x.dim(axis);
  if (!are_alike_but_at(merged, x, axis)) return std::nullopt;
  const auto from = spread_along(*apart, axis + 1, facts);
  if (!from) return std::nullopt;
  // Before the axis was made, where that is what the node does.
  ops::Shape dims = from->dims;
  dims.erase(dims.begin() + axis + 1);
  const ir::Node* made = from->value->producer();
  if (made && made->domain().empty() && (made->op_type() == "Unsqueeze" || made->op_type() == "Reshape")) {
    const auto before = shaped(made->input(0), facts);
    if (before && std::ranges::equal(before->dims, dims, dim::same)) return before;
  }
  return squeezed(at, *from, axis + 1);
}

// Gather of 0, 0, 1, 1.
std::optional<Shaped> gathered(const Shaped& x, int axis, const infer::Inference& facts) {
  constexpr int64_t kMostHeads = 1024;
  const ir::Node* gather = producer_of(x.value, "Gather");
  const ir::Tensor* positions = gather ? constant_of(gather->input(1)) : nullptr;
  auto from = gather ? shaped(gather->input(0), facts) : std::nullopt;
  const int64_t along = gather ? gather->attribute_int("axis", 0) : 0;
  if (!positions || !from || !are_alike_but_at(*from, x, axis) || (along != axis && along + x.rank() != axis) ||
      !ir::is_integer(positions->data_type) || positions->num_elements() > kMostHeads)
    return std::nullopt;
  const auto heads = from->dim(axis).constant(), all = x.dim(axis).constant();
  if (!heads || !all || *heads <= 0 || *all % *heads != 0 || positions->num_elements() != *all) return std::nullopt;
  const std::vector<int64_t> list = positions->to_int64();
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != static_cast<int64_t>(i) / (*all / *heads)) return std::nullopt;
  return from;
}

}  // namespace

std::optional<Shaped> without_repeats(const Shaped& x, int axis, const infer::Inference& facts, const ops::Emit& at) {
  if (const ir::Node* transpose = producer_of(x.value, "Transpose")) {
    const auto given = transpose->attribute_ints("perm");
    const std::vector<int64_t> permutation(given.begin(), given.end());
    const auto before = shaped(transpose->input(0), facts);
    if (!before || static_cast<int>(permutation.size()) != x.rank()) return std::nullopt;
    const auto from = without_repeats(*before, static_cast<int>(permutation[static_cast<size_t>(axis)]), facts, at);
    return from ? std::optional(transposed(at, *from, permutation)) : std::nullopt;
  }
  if (auto from = merged_groups(x, axis, facts, at)) return from;
  if (auto from = gathered(x, axis, facts)) return from;
  return x.dim(axis).is_constant(1) ? std::nullopt : spread_along(x, axis, facts);
}

}  // namespace thaw::optimizing
