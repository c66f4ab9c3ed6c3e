// How a frozen size shows at operators that read by index.
#include <algorithm>
#include <set>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ops/onnx/gather.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// An index that names every position from 0 to its length once, in whatever order, was made for an axis of that length.
void suggest_permuted_axis(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  const ir::Tensor* table = ctx.constant(1);
  if (!data.shape || !table || table->dims.size() != 1 || table->dims[0] < 3 || !ir::is_integer(table->data_type))
    return;
  int64_t axis = ctx.attr_int("axis", 0);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis >= data.rank() || !data.dim(static_cast<int>(axis)).is_symbolic()) return;
  std::vector<int64_t> positions;
  try {
    positions = table->to_int64();
  } catch (const Error&) {
    return;  // its data cannot be read
  }
  std::sort(positions.begin(), positions.end());
  for (size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != static_cast<int64_t>(i)) return;
  ctx.suggest(data.dim(static_cast<int>(axis)), table->dims[0], "an index and its axis");
}

// Gather by a constant table along an axis that the inputs size.
void meet_table(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  if (!data.shape || !indices.shape || indices.rank() == 0) return;
  int64_t axis = ctx.attr_int("axis", 0);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis >= data.rank()) return;
  Dim size = data.dim(static_cast<int>(axis));
  auto count = indices.num_elements().constant();
  auto assumed = dim::evaluate(size, ctx.assumed_sizes());
  if (!size.is_symbolic() || !count || *count <= 1 || !assumed || *count != *assumed) return;
  Meeting m;
  m.input = 1;
  m.value = *count;
  m.expression = size;
  m.is_index = m.silent = true;
  // A table of rank one is the axis anew; one of higher rank spreads it over several axes, which stay as they are.
  if (std::optional<Shape> out = ctx.output(0).shape; indices.rank() == 1 && out && out->size() == data.shape->size()) {
    (*out)[static_cast<size_t>(axis)] = size;
    ctx.set_shape(0, std::move(*out));
  }
  ctx.meet(m);
}

// One position that a constant names.
void pick_position(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  const ir::Tensor* index = ctx.constant(1);
  if (!data.shape || !index || index->num_elements() != 1) return;
  int64_t axis = ctx.attr_int("axis", 0);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis >= data.rank()) return;
  const Dim size = data.dim(static_cast<int>(axis));
  const auto now = size.is_symbolic() ? dim::evaluate(size, ctx.assumed_sizes()) : std::nullopt;
  const auto position = now ? ctx.ints(1) : std::nullopt;
  if (!position) return;
  const int64_t at = position->front() < 0 ? position->front() + *now : position->front();
  if (at >= 0 && at < *now) ctx.pick(size, at, at + 1);
}

}  // namespace

void frozen_gather(FrozenContext& ctx) {
  suggest_permuted_axis(ctx);
  meet_table(ctx);
  pick_position(ctx);
}

// Beside the axis that is read, data of as many rows as the indices had when the model was frozen: fewer run.
void frozen_gather_elements(FrozenContext& ctx) {
  const Fact &data = ctx.input(0), &indices = ctx.input(1);
  if (!data.shape || !indices.shape || data.rank() != indices.rank()) return;
  int64_t axis = ctx.attr_int("axis", 0);
  if (axis < 0) axis += data.rank();
  for (int k = 0; k < data.rank(); ++k) {
    const auto rows = data.dim(k).constant();
    const Dim size = indices.dim(k);
    // Rows of a batch: there is one for each sample, or they are too many.
    const auto symbols = dim::symbols_of(size);
    if (k != axis && rows.value_or(0) > 1 && symbols.size() == 1 && ctx.is_batch(symbols.front()))
      ctx.suggest(size, *rows, "rows of a GatherElements");
    if (k == axis || !size.is_symbolic() || rows.value_or(0) <= 1 || dim::evaluate(size, ctx.assumed_sizes()) != rows)
      continue;
    Meeting m;
    m.input = 0;
    m.element = k;
    m.value = *rows;
    m.expression = size;
    m.by_axis = true;
    ctx.meet(m);
  }
}

// A table of coordinates that names each position of a free axis once more for whatever stands beside them: 0, 1, ... of a batch.
void frozen_gather_nd(FrozenContext& ctx) {
  const Fact &data = ctx.input(0), &indices = ctx.input(1);
  constexpr int64_t kMostIndices = 1 << 16;
  const ir::Tensor* table = ctx.constant(1);
  const int64_t batch_dims = ctx.attr_int("batch_dims", 0);
  if (!data.shape || !table || table->num_elements() > kMostIndices || indices.rank() < 1 || batch_dims != 0) return;
  std::vector<int64_t> elements;
  try {
    elements = table->to_int64();
  } catch (const Error&) {
    return;  // its data cannot be read
  }
  const int64_t depth = indices.dim(indices.rank() - 1).constant().value_or(0);
  for (int64_t k = 0; k < std::min<int64_t>(depth, data.rank()); ++k) {
    const Dim size = data.dim(static_cast<int>(k));
    std::set<int64_t> named;
    for (size_t i = static_cast<size_t>(k); i < elements.size() && size.is_symbolic(); i += static_cast<size_t>(depth))
      named.insert(elements[i]);
    const auto count = static_cast<int64_t>(named.size());
    if (count < 2 || *named.begin() != 0 || *named.rbegin() != count - 1) continue;
    if (const auto assumed = dim::evaluate(size, ctx.assumed_sizes()); !assumed) {
      ctx.suspect(size, count);
    } else if (*assumed == count) {
      Meeting m;
      m.input = 1;
      m.value = count;
      m.expression = size;
      m.is_index = m.silent = true;
      ctx.meet(m);
    }
  }
}

}  // namespace thaw::ops
