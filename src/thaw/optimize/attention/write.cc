#include "thaw/optimize/attention/write.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/attention/grouped.h"
#include "thaw/optimize/attention/packed.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kMultiHead = "MultiHeadAttention", kAttention = "Attention";

ir::Value* guarded(const ops::Emit& at, const FoundAttention& found, ir::Value* result) {
  if (!found.is_guarded || !found.mask.value) return result;
  return at.emit("Where", {at.emit("IsNaN", {result}), at.scalar(0, found.heads.query.dtype), result});
}

// How many heads of queries share one of keys.
int64_t group_of(const FoundHeads& heads) { return heads.heads / heads.kv_heads; }

// The queries of a group may stand one after another as queries of one head, so that no key is repeated: a cache is read as it
// is. Where there are as many queries as keys, repeating the keys costs less than spreading the mask.
bool folds_groups(const FoundAttention& found) {
  const FoundHeads& heads = found.heads;
  const bool has_one_mask = !found.mask.value || found.mask.dim(1).is_constant(1);
  return group_of(heads) > 1 && heads.query.rank() == 4 && has_one_mask && !dim::same(heads.queries(), heads.keys());
}

// com.microsoft's operator reads [batch, positions, heads * width], keys and values also [batch, heads, positions, width]
// where there is no cache.
class MultiHeadWriter {
 public:
  MultiHeadWriter(const FoundAttention& found, const ops::Emit& at)
      : found_(found),
        heads_(found.heads),
        at_(at),
        group_(folds_groups(found) ? group_of(heads_) : 1),
        kernel_heads_(heads_.heads / group_) {}

  WrittenAttention write() const {
    ir::Value* query = group_ > 1 ? folded(heads_.query) : packed(heads_.query, heads_.heads, heads_.width);
    ir::Value *key = nullptr, *value = nullptr;
    if (found_.cache) {
      key = packed(found_.cache->key.now, heads_.kv_heads, heads_.width);
      value = packed(found_.cache->value.now, heads_.kv_heads, heads_.width);
    } else if (has_heads_first()) {
      key = repeated_heads(heads_.key);
      value = repeated_heads(heads_.value);
    } else {
      key = packed(heads_.key, heads_.kv_heads, heads_.width);
      value = packed(heads_.value, heads_.kv_heads, heads_.value_width);
    }
    rewrite::NodeSpec spec{.op = kMultiHead,
                           .inputs = {query, key, value},
                           .attributes = {{"num_heads", kernel_heads_}, {"scale", static_cast<float>(found_.scale)}},
                           .domain = ops::kMicrosoft};
    if (found_.mask.value) spec.inputs.insert(spec.inputs.end(), {nullptr, nullptr, spread(query, key)});
    if (found_.cache) {
      spec.inputs.resize(6);
      spec.inputs.insert(spec.inputs.end(), {found_.cache->key.past.value, found_.cache->value.past.value});
      spec.outputs = {true, true, true};
    }
    const std::vector<ir::Value*> made = rewrite::emit_node(at_, std::move(spec));
    ir::Value* merged = group_ > 1 ? unfolded(made.front()) : made.front();
    WrittenAttention written{with_heads(guarded(at_, found_, merged))};
    if (found_.cache) {
      written.keys = made[1];
      written.values = made[2];
    }
    return written;
  }

 private:
  ir::Value* spread(ir::Value* query, ir::Value* key) const {
    const Counted keys =
        found_.cache ? Counted{key, 1, found_.cache->key.past.value} : Counted{key, has_heads_first() ? 2 : 1};
    const Shaped mask = spread_mask(found_.mask, heads_, queries_of(query), keys, at_);
    return group_ > 1 ? at_.emit("Tile", {mask.value, at_.list({1, 1, group_, 1})}) : mask.value;
  }

  // Where as many as there are queries stand: of folded ones a group's stand there.
  Counted queries_of(ir::Value* query) const {
    if (group_ == 1) return {query, 1};
    const ir::Node* transposed = producer_of(heads_.query.value, "Transpose");
    const auto given = transposed ? transposed->attribute_ints("perm") : std::span<const int64_t>{};
    return given.size() == 4 ? Counted{transposed->input(0), given[2]} : Counted{heads_.query.value, 2};
  }

  // [batch, group * queries, kv heads * width] of [batch, kv heads * group, queries, width].
  ir::Value* folded(const Shaped& query) const {
    ir::Value* apart =
        at_.reshape(with_positions_first(at_, query), at_.list({0, 0, kernel_heads_, group_, heads_.width}));
    return at_.reshape(at_.transpose(apart, {0, 3, 1, 2, 4}), at_.list({0, -1, kernel_heads_ * heads_.width}));
  }

  ir::Value* unfolded(ir::Value* merged) const {
    ir::Value* apart = at_.reshape(merged, at_.list({0, group_, -1, kernel_heads_, heads_.value_width}));
    return at_.reshape(at_.transpose(apart, {0, 2, 3, 1, 4}), at_.list({0, 0, heads_.heads * heads_.value_width}));
  }

  // Keys and values that stand so already, in a cache say, need no turning.
  bool has_heads_first() const {
    return heads_.query.rank() == 4 && heads_.width == heads_.value_width && !has_positions_first(heads_.key) &&
           !has_positions_first(heads_.value);
  }

  ir::Value* packed(const Shaped& x, int64_t heads, int64_t width) const {
    if (heads_.view == HeadsView::kBatchFirst) return x.value;
    if (heads_.view == HeadsView::kHeadsFirst)
      return at_.reshape(transposed(at_, x, {1, 0, 2}).value, at_.list({1, -1, heads * width}));
    ir::Value* split = with_positions_first(at_, x);
    const int64_t group = kernel_heads_ / heads;
    if (group > 1) split = at_.emit("Expand", {at_.unsqueeze(split, {3}), at_.list({1, 1, 1, group, 1})});
    return at_.reshape(split, at_.list({0, 0, heads * group * width}));
  }

  ir::Value* repeated_heads(const Shaped& x) const {
    const int64_t group = kernel_heads_ / heads_.kv_heads;
    if (group == 1) return x.value;
    ir::Value* spread = at_.emit("Expand", {at_.unsqueeze(x.value, {2}), at_.list({1, 1, group, 1, 1})});
    return at_.reshape(spread, at_.list({0, heads_.heads, -1, heads_.width}));
  }

  // The heads an axis again: what joins them after attention takes that back.
  Shaped with_heads(ir::Value* merged) const {
    const Shaped& q = heads_.query;
    const int64_t width = heads_.value_width;
    if (heads_.view == HeadsView::kBatchFirst) return {merged, {q.dim(0), q.dim(1), width}, q.dtype};
    if (heads_.view == HeadsView::kHeadsFirst) {
      const Shaped split{
          at_.reshape(merged, at_.list({-1, heads_.heads, width})), {q.dim(1), heads_.heads, width}, q.dtype};
      return transposed(at_, split, {1, 0, 2});
    }
    const Shaped split{
        at_.reshape(merged, at_.list({0, 0, heads_.heads, width})), {q.dim(0), q.dim(2), heads_.heads, width}, q.dtype};
    return transposed(at_, split, {0, 2, 1, 3});
  }

  const FoundAttention& found_;
  const FoundHeads& heads_;
  const ops::Emit& at_;
  int64_t group_, kernel_heads_;  // heads of queries that the kernel sees as one, and how many it sees
};

WrittenAttention standard_attention(const FoundAttention& found, const ops::Emit& at) {
  const FoundHeads& heads = found.heads;
  const bool has_four = heads.query.rank() == 4;
  const int64_t missing = heads.view == HeadsView::kHeadsFirst ? 0 : 1;  // the axis of three
  const auto four = [&](const Shaped& x) { return has_four ? x.value : at.unsqueeze(x.value, {missing}); };
  const Shaped &key = found.cache ? found.cache->key.now : heads.key,
               &value = found.cache ? found.cache->value.now : heads.value;
  rewrite::NodeSpec spec{.op = kAttention,
                         .inputs = {four(heads.query), four(key), four(value)},
                         .attributes = {{"scale", static_cast<float>(found.scale)}}};
  if (found.mask.value) {
    const Counted keys{spec.inputs[1], 2, found.cache ? found.cache->key.past.value : nullptr};
    spec.inputs.push_back(spread_mask(found.mask, heads, {spec.inputs[0], 2}, keys, at).value);
  }
  if (found.softcap > 0) spec.attributes.push_back({"softcap", static_cast<float>(found.softcap)});
  if (found.cache) {
    spec.inputs.resize(4);
    spec.inputs.insert(spec.inputs.end(), {found.cache->key.past.value, found.cache->value.past.value});
    spec.outputs = {true, true, true};
  }
  const std::vector<ir::Value*> made = rewrite::emit_node(at, std::move(spec));
  WrittenAttention written{heads.query};
  written.result.value = guarded(at, found, made.front());
  written.result.dims.back() = heads.value_width;
  if (!has_four) written.result.value = at.squeeze(written.result.value, {missing});
  if (found.cache) {
    written.keys = made[1];
    written.values = made[2];
  }
  return written;
}

}  // namespace

std::string_view attention_operator(const FoundAttention& found, OptimizeTarget target) {
  if (target != OptimizeTarget::kOrt) return kAttention;
  return has_grouped_kernel(found) ? kGroupQuery : kMultiHead;
}

bool takes_cache(const FoundAttention& found, OptimizeTarget target, std::string& why) {
  if (target == OptimizeTarget::kOrt && group_of(found.heads) > 1 && !folds_groups(found)) {
    why = "heads that share keys have masks of their own";
    return false;
  }
  return true;
}

WrittenAttention write_attention(const FoundAttention& found, OptimizeTarget target, const ops::Emit& at) {
  if (target != OptimizeTarget::kOrt) return standard_attention(found, at);
  return has_grouped_kernel(found) ? grouped_attention(found, at) : MultiHeadWriter(found, at).write();
}

}  // namespace thaw::optimizing
