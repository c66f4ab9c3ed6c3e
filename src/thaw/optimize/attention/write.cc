#include "thaw/optimize/attention/write.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/attention/packed.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::optimizing {
namespace {

ir::Value* guarded(const ops::Emit& at, const FoundAttention& found, ir::Value* result) {
  if (!found.is_guarded || !found.mask.value) return result;
  return at.emit("Where", {at.emit("IsNaN", {result}), at.scalar(0, found.heads.query.dtype), result});
}

// com.microsoft's operator reads [batch, positions, heads * width], keys and values also [batch, heads, positions, width].
class MultiHeadWriter {
 public:
  MultiHeadWriter(const FoundAttention& found, const ops::Emit& at) : found_(found), heads_(found.heads), at_(at) {}

  Shaped write() const {
    ir::Value* query = packed(heads_.query, heads_.heads, heads_.width);
    ir::Value *key = nullptr, *value = nullptr;
    if (has_heads_first()) {
      key = repeated_heads(heads_.key);
      value = repeated_heads(heads_.value);
    } else {
      key = packed(heads_.key, heads_.kv_heads, heads_.width);
      value = packed(heads_.value, heads_.kv_heads, heads_.value_width);
    }
    std::vector<ir::Value*> inputs = {query, key, value};
    if (found_.mask.value) inputs.insert(inputs.end(), {nullptr, nullptr, spread(query, key)});
    ir::Value* joined =
        rewrite::emit_node(at_,
                           {.op = attention_operator(OptimizeTarget::kOrt),
                            .inputs = std::move(inputs),
                            .attributes = {{"num_heads", heads_.heads}, {"scale", static_cast<float>(found_.scale)}},
                            .domain = ops::kMicrosoft})
            .front();
    return with_heads(guarded(at_, found_, joined));
  }

 private:
  ir::Value* spread(ir::Value* query, ir::Value* key) const {
    return spread_mask(found_.mask, heads_, {query, 1}, {key, has_heads_first() ? 2 : 1}, at_).value;
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
    const int64_t group = heads_.heads / heads;
    if (group > 1) split = at_.emit("Expand", {at_.unsqueeze(split, {3}), at_.list({1, 1, 1, group, 1})});
    return at_.reshape(split, at_.list({0, 0, heads * group * width}));
  }

  ir::Value* repeated_heads(const Shaped& x) const {
    const int64_t group = heads_.heads / heads_.kv_heads;
    if (group == 1) return x.value;
    ir::Value* spread = at_.emit("Expand", {at_.unsqueeze(x.value, {2}), at_.list({1, 1, group, 1, 1})});
    return at_.reshape(spread, at_.list({0, heads_.heads, -1, heads_.width}));
  }

  // The heads an axis again: what joins them after attention takes that back.
  Shaped with_heads(ir::Value* joined) const {
    const Shaped& q = heads_.query;
    const int64_t width = heads_.value_width;
    if (heads_.view == HeadsView::kBatchFirst) return {joined, {q.dim(0), q.dim(1), width}, q.dtype};
    if (heads_.view == HeadsView::kHeadsFirst) {
      const Shaped split{
          at_.reshape(joined, at_.list({-1, heads_.heads, width})), {q.dim(1), heads_.heads, width}, q.dtype};
      return transposed(at_, split, {1, 0, 2});
    }
    const Shaped split{
        at_.reshape(joined, at_.list({0, 0, heads_.heads, width})), {q.dim(0), q.dim(2), heads_.heads, width}, q.dtype};
    return transposed(at_, split, {0, 2, 1, 3});
  }

  const FoundAttention& found_;
  const FoundHeads& heads_;
  const ops::Emit& at_;
};

Shaped standard_attention(const FoundAttention& found, const ops::Emit& at) {
  const FoundHeads& heads = found.heads;
  const bool has_four = heads.query.rank() == 4;
  const int64_t missing = heads.view == HeadsView::kHeadsFirst ? 0 : 1;  // the axis of three
  const auto four = [&](const Shaped& x) { return has_four ? x.value : at.unsqueeze(x.value, {missing}); };
  std::vector<ir::Value*> inputs = {four(heads.query), four(heads.key), four(heads.value)};
  if (found.mask.value) inputs.push_back(spread_mask(found.mask, heads, {inputs[0], 2}, {inputs[1], 2}, at).value);
  ops::Attributes attributes = {{"scale", static_cast<float>(found.scale)}};
  if (found.softcap > 0) attributes.push_back({"softcap", static_cast<float>(found.softcap)});
  Shaped result = heads.query;
  result.value = at.emit(attention_operator(OptimizeTarget::kPortable), std::move(inputs), std::move(attributes));
  result.dims.back() = heads.value_width;
  result.value = guarded(at, found, result.value);
  if (!has_four) result.value = at.squeeze(result.value, {missing});
  return result;
}

}  // namespace

std::string_view attention_operator(OptimizeTarget target) {
  return target == OptimizeTarget::kOrt ? "MultiHeadAttention" : "Attention";
}

Shaped write_attention(const FoundAttention& found, OptimizeTarget target, const ops::Emit& at) {
  return target == OptimizeTarget::kOrt ? MultiHeadWriter(found, at).write() : standard_attention(found, at);
}

}  // namespace thaw::optimizing
