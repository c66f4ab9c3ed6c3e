// Attention: softmax(scale * q k^T + mask) v (Vaswani et al., "Attention Is All You Need", 3.2), however it is written.
// com.microsoft's MultiHeadAttention or GroupQueryAttention for ONNX Runtime, ONNX's Attention from opset 23 on.
//
// It is found from its end: the product with v, the softmax before it (attention/scores.h), what stands between that and the
// product of q and k, and how the heads stand in all of them (attention/heads.h).
#include <algorithm>

#include <fmt/format.h>

#include "thaw/optimize/attention/grouped.h"
#include "thaw/optimize/attention/write.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kPass = "attention";

// Sinks: a score of each head that takes its part of the weights and has no value. That is one more position, whose key and
// value are zeros and whose mask is the score.

struct ScoresWithSink {
  ir::Value *scores = nullptr, *sink = nullptr;
};

// The scores and the sink that a softmax is of, which stands last; nullopt where it is no such thing.
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

// A position of zeros after all others, which stand along the axis before the last.
Shaped with_zero_position(const ops::Emit& at, const Shaped& x) {
  Shaped longer = x;
  longer.value = at.emit("Pad", {x.value, at.list({0, 0, 0, 0, 0, 0, 1, 0})});
  longer.dims[2] = x.dim(2) + 1;
  return longer;
}

// With the sink as a position after all others; false where its axes are not those of the scores.
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

class AttentionFuser {
 public:
  explicit AttentionFuser(Context& context)
      : model_(context.model),
        facts_(context.facts()),
        target_(context.target),
        changes_(context.changes),
        opset_(context.model.opset("").value_or(0)) {}

  bool fuse(ir::Node* product) {
    why_.clear();
    outside_.clear();
    const bool fused = has_softmax(*product) && (replace(product) || (!outside_.empty() && replace(product)));
    if (!fused && !why_.empty())
      changes_.left.push_back(
          {.kind = std::string(kPass), .location = product->describe(), .part = {}, .replaced = {}, .why = why_});
    return fused;
  }

 private:
  // Looked at before anything else, as most products have none. Of an Einsum either operand may be the weights, and of
  // another product the right one where it is transposed: v^T p^T is (p v)^T.
  bool has_softmax(const ir::Node& product) {
    is_transposed_ = false;
    along_ = WeightsAlong::kRows;
    weights_ = find_weights(product.input(0), along_, facts_, opset_, why_);
    if (!weights_.softmax && product.op_type() == "Einsum")
      weights_ = find_weights(product.input(1), along_, facts_, opset_, why_);
    if (weights_.softmax || product.op_type() == "Einsum") return weights_.softmax != nullptr;
    is_transposed_ = true;
    const ir::Node* transpose = producer_of(product.input(1), "Transpose");
    if (!transpose) return has_softmax_along_columns(product);
    const auto given = transpose->attribute_ints("perm");
    if (is_read_once(*product.input(1)) &&
        swaps_last_two({given.begin(), given.end()}, facts_.fact(product.input(1)).rank()))
      weights_ = find_weights(transpose->input(0), along_, facts_, opset_, why_);
    return weights_.softmax != nullptr;
  }

  // v^T p^T where p^T is the softmax of k q^T along the keys.
  bool has_softmax_along_columns(const ir::Node& product) {
    along_ = WeightsAlong::kColumns;
    std::string other_axis;
    weights_ = find_weights(product.input(1), along_, facts_, opset_, other_axis);
    return weights_.softmax && !weights_.is_reshaped && !weights_.kept && !weights_.lacks_last;
  }

  std::optional<MatrixProduct> product_with_values(const ir::Node& product, const ops::Emit& at) const {
    auto values = matrix_product(product, facts_, at);
    if (!values || !is_transposed_) return values;
    Shaped weights = values->right;
    if (along_ == WeightsAlong::kRows)
      weights = with_last_two_swapped(at, weights);
    else
      std::swap(weights.dims[weights.dims.size() - 2], weights.dims.back());  // never written
    MatrixProduct transposed{weights, with_last_two_swapped(at, values->left), values->scale};
    for (int axis = 0; axis < transposed.left.rank(); ++axis) transposed.transposed.push_back(axis);
    std::swap(transposed.transposed[transposed.transposed.size() - 2], transposed.transposed.back());
    return values->transposed.empty() ? std::optional(std::move(transposed)) : std::nullopt;
  }

  // Once more where it leaves a reason in outside_: without the cache then.
  bool replace(ir::Node* product) {
    rewrite::Patch patch(model_, {});
    const std::string location = product->describe();
    patch.emitter().set_origin(rewrite::name_of(*product));
    const ops::Emit at = patch.before(product);
    try {
      const auto values = product_with_values(*product, at);
      // The weights as they are, not transposed.
      if (!values || values->scale != 1 || !are_weights(values->left)) return false;
      auto found = find(*values, product, at);
      if (!found) return false;
      if (outside_.empty()) take_cache(*found);
      const WrittenAttention written = write_attention(*found, target_, at);
      if (!put_in_place(patch, *found, written.result, *values, product)) return false;
      if (found->cache && !give_cache(patch, *found->cache, written)) return false;
      note(*found, location);
    } catch (const ops::CannotWrite& error) {
      why_ = error.why;
      return false;
    }
    patch.apply(facts_);
    return true;
  }

  void take_cache(FoundAttention& found) {
    if (target_ == OptimizeTarget::kOrt && found.softcap > 0) return;
    found.cache = find_cache(found.heads, facts_, outside_);
    if (found.cache && !takes_cache(found, target_, outside_)) found.cache.reset();
  }

  // What read the concatenated keys and values reads the operator's outputs.
  bool give_cache(rewrite::Patch& patch, const FoundCache& cache, const WrittenAttention& written) {
    const ir::Node& attention = *written.keys->producer();
    for (const auto& [part, present] : {std::pair(&cache.key, written.keys), std::pair(&cache.value, written.values)}) {
      if (!may_come_from(attention, *part->all, *present)) {
        outside_ = "its keys or values are read before it";
        return false;
      }
      patch.replace(part->all, present);
    }
    return true;
  }

  bool are_weights(const Shaped& left) const {
    std::string why;
    return find_weights(left.value, along_, facts_, opset_, why).softmax == weights_.softmax;
  }

  std::optional<FoundAttention> find(const MatrixProduct& values, const ir::Node* product, const ops::Emit& at) {
    const auto with_sink = weights_.lacks_last ? scores_with_sink(*weights_.softmax, facts_) : std::nullopt;
    if (weights_.lacks_last && !with_sink) return std::nullopt;
    auto scores = find_scores(with_sink ? with_sink->scores : weights_.softmax->input(0), facts_, at, why_);
    if (!scores) return std::nullopt;
    if (along_ == WeightsAlong::kColumns && !turn(*scores, at)) return std::nullopt;
    if (!clear_masked(weights_, *scores)) {
      why_ = "its weights are cleared where no mask of the scores is";
      return std::nullopt;
    }
    const bool is_reshaped = scores->is_reshaped || weights_.is_reshaped;
    // Batches and heads that are one axis are told apart where all says how; else they are batches of one head.
    for (const bool merges_heads : {true, false}) {
      const auto heads = find_heads(*scores, values, merges_heads, is_reshaped, facts_, at, why_);
      if (!heads) continue;
      if (heads->result == HeadsView::kMerged && !unmerging(*product, *heads)) continue;
      const auto mask = added_mask(*scores, *heads, is_reshaped, facts_, at, why_);
      if (!mask) continue;
      FoundAttention found{*heads, *mask, scores->scale * heads->scale, scores->softcap, weights_.is_guarded};
      if (!with_sink) {
        if (target_ == OptimizeTarget::kOrt && heads->kv_heads < heads->heads)
          found.band = band_of(scores->masks, *heads, facts_);
        return can_cap(found) ? std::optional(found) : std::nullopt;
      }
      if (add_sink(found, with_sink->sink, facts_, at)) return can_cap(found) ? std::optional(found) : std::nullopt;
      why_ = "the axes of the sink are not known to be those of the scores";
    }
    return std::nullopt;
  }

  // A mask is added before the cap by the standard, and after it by its kernels and by models.
  bool can_cap(const FoundAttention& found) {
    if (found.softcap == 0) return true;
    if (target_ == OptimizeTarget::kOrt) {
      if (has_grouped_kernel(found)) return true;
      why_ = "MultiHeadAttention has no softcap";
    } else if (found.mask.value) {
      why_ = "a softcap with a mask has no operator that all kernels agree on";
    } else {
      return true;
    }
    return false;
  }

  // Scores with the keys first become those with the queries first: (k q^T)^T.
  bool turn(FoundScores& scores, const ops::Emit& at) {
    if (scores.is_reshaped) {
      why_ = "its scores stand with the keys first, and are reshaped";
      return false;
    }
    for (FoundMask& mask : scores.masks) mask.has_keys_first = true;
    const MatrixProduct product = scores.product;
    scores.product.left = with_last_two_swapped(at, product.right);
    scores.product.right = with_last_two_swapped(at, product.left);
    return true;
  }

  // The Reshape that tells batches and heads apart after the product; null where there is none.
  const ir::Node* unmerging(const ir::Node& product, const FoundHeads& heads) const {
    const ir::Value& result = *product.output(0);
    if (!is_read_once(result)) return nullptr;
    const ir::Node* reshape = result.uses().front().node;
    if (reshape->op_type() != "Reshape" || !reshape->domain().empty() || reshape->input(0) != &result) return nullptr;
    const ops::Fact& apart = facts_.fact(reshape->output(0));
    const bool fits = apart.rank() == 4 && apart.dim(1).is_constant(heads.heads) &&
                      apart.dim(3).is_constant(heads.value_width) && dim::same(apart.dim(2), heads.queries());
    return fits ? reshape : nullptr;
  }

  bool put_in_place(rewrite::Patch& patch, const FoundAttention& found, const Shaped& result,
                    const MatrixProduct& values, ir::Node* product) {
    const FoundHeads& heads = found.heads;
    const ops::Emit at = patch.before(product);
    ir::Value *old = product->output(0), *now = result.value;
    if (heads.result == HeadsView::kMerged) {
      old = unmerging(*product, heads)->output(0);
    } else if (heads.result == HeadsView::kFolded) {
      now = at.reshape(now, at.list({0, heads.kv_heads, -1, heads.value_width}));
    } else if (heads.result == HeadsView::kGrouped) {
      const auto groups = facts_.fact(values.left.value).dim(2).constant();
      const auto kept = facts_.fact(values.left.value).dim(1).constant();
      if (!groups || !kept) return false;
      if (producer_of(now, "Transpose")) {
        const Shaped positions_first = transposed(at, result, {0, 2, 1, 3});
        now = at.reshape(positions_first.value, at.list({0, 0, *kept, *groups, heads.value_width}));
        now = at.transpose(now, {0, 2, 3, 1, 4});
      } else {
        now = at.reshape(now, at.list({0, *kept, *groups, -1, heads.value_width}));
      }
    }
    if (!values.transposed.empty()) now = at.transpose(now, values.transposed);
    patch.replace(old, now);
    remove_what_gave(*old);
    return true;
  }

  void note(const FoundAttention& found, const std::string& location) {
    const FoundHeads& heads = found.heads;
    std::string what = fmt::format("{} head{} of {}", heads.heads, heads.heads == 1 ? "" : "s", heads.width);
    if (heads.kv_heads < heads.heads) what += fmt::format(", {} of keys", heads.kv_heads);
    if (found.mask.value) what += ", with a mask";
    if (found.cache) what += ", with its cache";
    if (!outside_.empty()) what += fmt::format(", its cache outside, as {}", outside_);
    const std::string now(attention_operator(found, target_));
    changes_.made.push_back({.kind = now, .location = location, .part = {}, .replaced = {{what, now}}});
  }

  ir::Model& model_;
  infer::Inference& facts_;
  OptimizeTarget target_;
  rewrite::Changes& changes_;
  int64_t opset_;
  FoundWeights weights_;
  bool is_transposed_ = false;  // weights on the right
  WeightsAlong along_ = WeightsAlong::kRows;
  std::string why_;
  std::string outside_;  // why its cache is not the operator's
};

}  // namespace

int fuse_attention(Context& context) {
  AttentionFuser fuser(context);
  return rewrite::for_sites(context, [&](ir::Node* node) {
    return may_be_matrix_product(*node) && node->output(0) && node->output(0)->is_used() && fuser.fuse(node);
  });
}

}  // namespace thaw::optimizing
