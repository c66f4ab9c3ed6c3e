#include "thaw/optimize/attention/sinks.h"

#include <algorithm>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

// A position of zeros after all others, which stand along the axis before the last.
Shaped with_zero_position(const ops::Emit& at, const Shaped& x) {
  Shaped longer = x;
  longer.value = at.emit("Pad", {x.value, at.list({0, 0, 0, 0, 0, 0, 1, 0})});
  longer.dims[2] = x.dim(2) + 1;
  return longer;
}

}  // namespace

std::optional<ScoresWithSink> scores_with_sink(const ir::Node& softmax, const infer::Inference& facts) {
  const ir::Value* both = softmax.input(0);
  const ir::Node* concat = producer_of(both, "Concat");
  const int rank = facts.fact(both).rank();
  if (!concat || concat->inputs().size() != 2 || rank < 1 || !is_read_once(*both)) return std::nullopt;
  const int64_t axis = concat->attribute_int("axis", 0);
  const bool is_last = axis == -1 || axis == rank - 1;
  if (!is_last || !facts.fact(concat->input(1)).dim(rank - 1).is_constant(1)) return std::nullopt;
  return ScoresWithSink{concat->input(0), concat->input(1)};
}

bool add_sink(FoundAttention& found, ir::Value* sink, const infer::Inference& facts, const ops::Emit& at) {
  FoundHeads& heads = found.heads;
  // As it was before it was spread over batches and queries.
  if (const ir::Node* expand = producer_of(sink, "Expand"); expand && facts.fact(expand->input(0)).rank() == 4)
    sink = expand->input(0);
  auto last = shaped(sink, facts);
  const bool has_four = heads.view == HeadsView::kFour && heads.result == HeadsView::kFour;
  if (!has_four || heads.query.rank() != 4 || !last || last->rank() != 4 || found.softcap > 0 || found.is_guarded ||
      !last->dim(3).is_constant(1))
    return false;
  const auto is = [&](int axis, dim::Dim size) {
    return last->dim(axis).is_constant(1) || dim::same(last->dim(axis), size);
  };
  if (!is(0, heads.batch()) || !is(1, dim::Dim(heads.heads)) || !is(2, heads.queries())) return false;
  if (last->dtype != heads.query.dtype) {
    last->value = at.cast(last->value, heads.query.dtype);
    last->dtype = heads.query.dtype;
  }
  const dim::Dim keys = heads.keys();
  ir::Value* count = at.slice(at.shape(heads.key.value), 2, 3);
  Shaped column = *last;
  column.value = at.emit("Pad", {last->value, at.concat({at.list({0, 0, 0}), count, at.list({0, 0, 0, 0})}, 0)});
  column.dims[3] = keys + 1;
  if (found.mask.value) {
    const bool has_columns = dim::same(found.mask.dim(3), keys);
    if (!has_columns) return false;
    const Shaped before = found.mask;
    ir::Value* longer = at.emit("Pad", {before.value, at.list({0, 0, 0, 0, 0, 0, 0, 1})});
    column.value = at.add(longer, column.value);
    for (int axis = 0; axis < 3; ++axis)
      if (column.dim(axis).is_constant(1)) column.dims[static_cast<size_t>(axis)] = before.dim(axis);
  }
  found.mask = column;
  heads.key = with_zero_position(at, heads.key);
  heads.value = with_zero_position(at, heads.value);
  return true;
}

}  // namespace thaw::optimizing
