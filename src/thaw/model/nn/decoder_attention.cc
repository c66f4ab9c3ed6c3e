#include "thaw/model/nn/decoder_attention.h"

#include <cmath>

#include "thaw/model/nn/groups.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {

using ir::DataType;

CausalMasks::CausalMasks(Var attention_mask, Var seq, Var past) {
  Net& net = *attention_mask.net;
  const Here here(net, "mask");
  batch_ = size_of(attention_mask, 0);
  total_ = past ? past + seq : seq;
  token_ = unsqueeze(cast(attention_mask, DataType::kBool), {1, 2});
  Var query = arange(seq);
  query_index_ = unsqueeze(past ? query + past : query, {1});
  key_index_ = unsqueeze(arange(total_), {0});
}

Var CausalMasks::for_window(int64_t window) {
  Var& mask = masks_[window];
  if (mask) return mask;
  Net& net = *token_.net;
  const Here here(net, "mask");
  Var sees = less_or_equal(key_index_, query_index_);
  if (window > 0) sees = logical_and(sees, less(query_index_ - static_cast<double>(window), key_index_));
  const DataType type = net.dtype();
  mask = where(logical_and(token_, sees), net.scalar(0, type), net.scalar(masked_score(type), type));
  return mask;
}

namespace {

// What ONNX Runtime's kernel takes.
bool has_kernel(const AttentionSizes& sizes) { return sizes.head_dim % 8 == 0; }

double score_scale(const AttentionSizes& sizes) { return 1 / std::sqrt(static_cast<double>(sizes.head_dim)); }

// ONNX Runtime's kernel appends to the cache and shares key heads itself. Each row of the batch counts as whole, and
// the mask says what is padding: the kernel's own count of tokens would put padding at the right.
Attended attend_by_kernel(Var qkv, const TokenRotary& rotary, const std::optional<HeadNorms>& norms, const Cache& past,
                          bool keep, Var mask, const AttentionSizes& sizes, const CausalMasks& masks) {
  Net& net = *qkv.net;
  const int64_t d = sizes.head_dim;
  const std::vector<Var> parts = split(qkv, -1, {sizes.heads * d, sizes.kv_heads * d, sizes.kv_heads * d});
  const auto prepared = [&](Var x, int64_t heads, const Scope* norm) {
    if (norm) x = reshape(rms_norm(*norm, reshape(x, {0, 0, heads, d}), d, norms->epsilon), {0, 0, heads * d});
    return rotate_tokens(x, rotary, heads, d);
  };
  Var q = prepared(parts[0], sizes.heads, norms ? &norms->query : nullptr);
  Var k = prepared(parts[1], sizes.kv_heads, norms ? &norms->key : nullptr);
  Var total = cast(masks.total(), DataType::kInt32);
  Var last = expand(total - 1.0, masks.batch());
  const DataType present = keep ? q.type : DataType::kUndefined;
  const std::vector<Var> out = net.nodes(
      "GroupQueryAttention", {q, k, parts[2], past.key, past.value, last, total, Var{}, Var{}, Var{}, mask},
      {q.type, present, present},
      {{"num_heads", sizes.heads}, {"kv_num_heads", sizes.kv_heads}, {"scale", static_cast<float>(score_scale(sizes))}},
      "com.microsoft");
  return {out[0], {out[1], out[2]}};
}

Attended attend_causally_by_products(Var qkv, const TokenRotary& rotary, const std::optional<HeadNorms>& norms,
                                     const Cache& past, bool keep, Var mask, const AttentionSizes& sizes) {
  const DataType type = qkv.type;
  const int64_t d = sizes.head_dim, heads = sizes.heads, kv_heads = sizes.kv_heads;
  const std::vector<Var> parts = split(reshape(qkv, {0, 0, heads + 2 * kv_heads, d}), 2, {heads, kv_heads, kv_heads});
  const auto heads_first = [](Var x) { return transpose(x, {0, 2, 1, 3}); };
  const auto prepared = [&](Var x, int64_t count, const Scope* norm) {
    if (norm) x = rms_norm(*norm, x, d, norms->epsilon);
    if (!rotary.row) return rotate_tokens(x, rotary, count, d);
    return reshape(rotate_tokens(reshape(x, {0, 0, count * d}), rotary, count, d), {0, 0, count, d});
  };
  // Scaled before the product, which keeps its sums small in float16.
  Var q = heads_first(prepared(parts[0], heads, norms ? &norms->query : nullptr) * score_scale(sizes));
  Cache all{heads_first(prepared(parts[1], kv_heads, norms ? &norms->key : nullptr)), heads_first(parts[2])};
  if (past.key) all = {concat({past.key, all.key}, 2), concat({past.value, all.value}, 2)};

  // The queries of all heads that share a key head are rows of one product: [batch, kv_heads, group * seq, head_dim].
  const bool shares = sizes.group() > 1;
  const auto merged = [&](Var x, int64_t last) { return shares ? reshape(x, {0, kv_heads, -1, last}) : x; };
  const auto apart = [&](Var x, int64_t last) { return shares ? reshape(x, {0, heads, -1, last}) : x; };
  Var scores = apart(matmul(merged(q, d), transpose(all.key, {0, 1, 3, 2})), 0) + mask;
  Var weights = cast(softmax(cast(scores, DataType::kFloat), -1), type);
  Var out = apart(matmul(merged(weights, 0), all.value), d);
  return {reshape(heads_first(out), {0, 0, heads * d}), keep ? all : Cache{}};
}

}  // namespace

Attended attend_causally(Var qkv, const TokenRotary& rotary, const std::optional<HeadNorms>& norms, const Cache& past,
                         bool keep, Var mask, const AttentionSizes& sizes, const CausalMasks& masks) {
  return qkv.net->is_ort() && has_kernel(sizes)
             ? attend_by_kernel(qkv, rotary, norms, past, keep, mask, sizes, masks)
             : attend_causally_by_products(qkv, rotary, norms, past, keep, mask, sizes);
}

}  // namespace thaw::model
