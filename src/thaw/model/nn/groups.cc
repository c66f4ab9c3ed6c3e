#include "thaw/model/nn/groups.h"

#include <cmath>

namespace thaw::model {

using ir::DataType;

double masked_score(DataType type) { return type == DataType::kFloat16 ? -3e4 : -1e9; }

Var slot_mask(Var present) {
  Net& net = *present.net;
  const DataType type = net.dtype();
  Var score = where(present, net.scalar(0, DataType::kFloat), net.scalar(masked_score(type), DataType::kFloat));
  return cast(unsqueeze(score, {1, 2}), type);
}

Groups make_groups(Var row, Var present, Var location, bool bounded) {
  return {row, present, location, slot_mask(present), bounded, {}};
}

Groups even_groups(Var groups, Var slots) {
  Groups even;
  even.bounded = false;
  even.even = concat({unsqueeze(groups, {0}), unsqueeze(slots, {0})}, 0);
  return even;
}

Var interval_of(Var index, Var ends) {
  Var past = greater_or_equal(unsqueeze(index, {1}), unsqueeze(ends, {0}));
  return reduce_sum(cast(past, DataType::kInt64), {1});
}

namespace {

// com.microsoft's MultiHeadAttention without a mask is a kernel that never stores the scores. Two more elements in each
// head carry the mask instead: queries have (1, 0) there, keys (m, 0) with m = 0 for a row and very negative for an
// empty slot, so that the product adds m to the score.
Var attend_without_scores(Var q, Var k, Var v, Var mask, int64_t heads, int64_t head_dim, double scale) {
  Net& net = *q.net;
  const DataType type = q.type;
  constexpr int64_t kExtra = 2;  // an even head size
  const auto with_extra = [&](Var x,
                              Var extra) {  // [g, s, heads * d], [g, s, 1, kExtra] -> [g, s, heads * (d + kExtra)]
    Var split_heads = reshape(x, {0, 0, heads, head_dim});
    Var wide = expand(extra, concat({slice(shape_of(split_heads), 0, 0, 3), net.integers({kExtra})}, 0));
    return reshape(concat({split_heads, wide}, 3), {0, 0, heads * (head_dim + kExtra)});
  };
  Var one = net.scalar(1, type), none = net.scalar(0, type);
  Var score = transpose(mask, {0, 3, 1, 2});  // [g, s, 1, 1]
  Var empty = score * 0.0;
  // The kernel multiplies every product by the scale, the mask's too; the mask is large enough for that.
  Var query = with_extra(q, concat({empty + one, empty + none}, 3));
  Var key = with_extra(k, concat({score, empty}, 3));
  return net.node("MultiHeadAttention", {query, key, v}, type,
                  {{"num_heads", heads}, {"scale", static_cast<float>(scale)}}, "com.microsoft");
}

// Scores of that many heads exist at once: [groups, heads, slots, slots] of a whole image is what takes the memory.
constexpr int64_t kHeadsAtOnce = 4;

Var attend_by_products(Var q, Var k, Var v, Var mask, bool bounded, int64_t heads, int64_t head_dim, double scale) {
  const auto heads_first = [&](Var x, const std::vector<int64_t>& order) {
    return transpose(reshape(x, {0, 0, heads, head_dim}), order);
  };
  const auto attend = [&](Var query, Var key, Var value) {
    Var score = matmul(query, key);
    return matmul(softmax(mask ? score + mask : score, -1), value);
  };
  Var query = heads_first(q * scale, {0, 2, 1, 3});
  Var key = heads_first(k, {0, 2, 3, 1});
  Var value = heads_first(v, {0, 2, 1, 3});
  const auto rows_first = [&](Var x) { return reshape(transpose(x, {0, 2, 1, 3}), {0, 0, heads * head_dim}); };
  if (bounded || heads <= kHeadsAtOnce) return rows_first(attend(query, key, value));
  std::vector<int64_t> sizes(static_cast<size_t>(heads / kHeadsAtOnce), kHeadsAtOnce);
  if (heads % kHeadsAtOnce != 0) sizes.push_back(heads % kHeadsAtOnce);
  const std::vector<Var> queries = split(query, 1, sizes), keys = split(key, 1, sizes), values = split(value, 1, sizes);
  std::vector<Var> attended;
  for (size_t i = 0; i < sizes.size(); ++i) attended.push_back(attend(queries[i], keys[i], values[i]));
  return rows_first(concat(attended, 1));
}

}  // namespace

Var attend_in_batch(Var q, Var k, Var v, Var mask, bool bounded, int64_t heads, int64_t head_dim, double scale) {
  if (scale == 0) scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  if (!q.net->is_ort()) return attend_by_products(q, k, v, mask, bounded, heads, head_dim, scale);
  if (mask) return attend_without_scores(q, k, v, mask, heads, head_dim, scale);
  return q.net->node("MultiHeadAttention", {q, k, v}, q.type,
                     {{"num_heads", heads}, {"scale", static_cast<float>(scale)}}, "com.microsoft");
}

Var attend_in_groups(Var q, Var k, Var v, const Groups& groups, int64_t heads, int64_t head_dim, double scale) {
  if (groups.even) {
    Var shape = concat({groups.even, q.net->integers({heads * head_dim})}, 0);
    const auto in_groups = [&](Var x) { return reshape(x, shape); };
    Var attended =
        attend_in_batch(in_groups(q), in_groups(k), in_groups(v), {}, groups.bounded, heads, head_dim, scale);
    return reshape(attended, {-1, heads * head_dim});
  }
  const auto in_slots = [&](Var x) { return gather(x, groups.row); };
  Var attended =
      attend_in_batch(in_slots(q), in_slots(k), in_slots(v), groups.mask, groups.bounded, heads, head_dim, scale);
  return gather(reshape(attended, {-1, heads * head_dim}), groups.location);
}

}  // namespace thaw::model
