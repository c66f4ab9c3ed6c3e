#include "thaw/optimize/attention/grouped.h"

#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/optimize/attention/packed.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kWidths = 8;  // the kernel's heads are a multiple of this wide

}  // namespace

bool has_grouped_kernel(const FoundAttention& found) {
  const FoundHeads& heads = found.heads;
  const ir::DataType type = heads.query.dtype;
  const bool has_sizes = heads.query.rank() == 4 && heads.kv_heads < heads.heads && heads.width % kWidths == 0 &&
                         heads.value_width == heads.width && dim::same(heads.queries(), heads.keys());
  const bool has_some = ops::at_least(heads.batch(), 1) && ops::at_least(heads.queries(), 1);
  return has_sizes && has_some && !found.cache && found.band && is_causal(*found.band) &&
         (type == ir::DataType::kFloat || type == ir::DataType::kFloat16);
}

WrittenAttention grouped_attention(const FoundAttention& found, const ops::Emit& at) {
  const FoundHeads& heads = found.heads;
  const auto packed = [&](const Shaped& x, int64_t count) {
    return at.reshape(with_positions_first(at, x), at.list({0, 0, count * heads.width}));
  };
  ir::Value *query = packed(heads.query, heads.heads), *value = packed(heads.value, heads.kv_heads);
  // All samples are as long as there are positions: the last key of each is the one before. Sizes are those of the values, as
  // queries may be transposed inside the operator.
  ir::Value *sizes = at.shape(value), *batch = at.slice(sizes, 0, 1), *total = at.slice(sizes, 1, 2);
  ir::Value* last = at.emit("Expand", {at.sub(total, at.list({1})), batch});
  rewrite::NodeSpec spec{.op = kGroupQuery,
                         .inputs = {query, packed(heads.key, heads.kv_heads), value, nullptr, nullptr,
                                    at.cast(last, ir::DataType::kInt32), at.cast(total, ir::DataType::kInt32)},
                         .attributes = {{"num_heads", heads.heads},
                                        {"kv_num_heads", heads.kv_heads},
                                        {"scale", static_cast<float>(found.scale)}},
                         .domain = ops::kMicrosoft};
  if (found.softcap > 0) spec.attributes.push_back({"softcap", static_cast<float>(found.softcap)});
  if (found.band->low) {  // a window
    const Shaped mask = spread_mask(found.mask, heads, {query, 1}, {query, 1}, at);
    spec.inputs.insert(spec.inputs.end(), {nullptr, nullptr, nullptr, mask.value});
  }
  const Shaped& q = heads.query;
  ir::Value* merged = rewrite::emit_node(at, std::move(spec)).front();
  const Shaped split{at.reshape(merged, at.list({0, 0, heads.heads, heads.width})),
                     {q.dim(0), q.dim(2), heads.heads, heads.width},
                     q.dtype};
  return {transposed(at, split, {0, 2, 1, 3})};
}

}  // namespace thaw::optimizing
