#include "thaw/optimize/attention/heads.h"

#include <algorithm>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

bool is_supported(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
}

// Behind a Cast from the type that the values have: what reads both converts on its own.
ir::Value* without_cast(ir::Value* value, ir::DataType type, const infer::Inference& facts) {
  const ir::Node* cast = producer_of(value, "Cast");
  return cast && facts.fact(cast->input(0)).dtype == type ? cast->input(0) : value;
}

class HeadsFinder {
 public:
  HeadsFinder(const infer::Inference& facts, const ops::Emit& at, std::string& why)
      : facts_(facts), at_(at), why_(why) {}

  std::optional<FoundHeads> find(const Shaped& query, const Shaped& transposed_key, const Shaped& value,
                                 bool merges_heads) {
    if (query.rank() != transposed_key.rank() || query.rank() != value.rank()) return std::nullopt;
    FoundHeads found;
    found.query = query;
    found.value = value;
    bool fits = false;
    if (query.rank() == 3) {
      fits = (merges_heads && merged(found, transposed_key)) || plain(found, transposed_key);
    } else if (query.rank() == 4) {
      fits = four(found, transposed_key);
    } else if (query.rank() == 5) {
      fits = grouped(found, transposed_key);
    }
    if (!fits || !take_widths(found) || !is_one_attention(found)) return std::nullopt;
    return found;
  }

 private:
  Shaped untransposed(const Shaped& x) const {
    std::vector<int64_t> permutation;
    for (int axis = 0; axis < x.rank(); ++axis) permutation.push_back(axis);
    std::swap(permutation[permutation.size() - 2], permutation[permutation.size() - 1]);
    return transposed(at_, x, permutation);
  }

  bool plain(FoundHeads& found, const Shaped& transposed_key) {
    found.key = untransposed(transposed_key);
    // Behind a Transpose the positions stand first, and heads beside each other; else nothing needs to be transposed.
    const auto heads = producer_of(found.query.value, "Transpose") ? found.query.dim(0).constant() : std::nullopt;
    found.view = found.result = heads ? HeadsView::kHeadsFirst : HeadsView::kBatchFirst;
    found.heads = found.kv_heads = heads.value_or(1);
    return dim::same(found.query.dim(0), found.key.dim(0)) && dim::same(found.query.dim(0), found.value.dim(0));
  }

  bool merged(FoundHeads& found, const Shaped& transposed_key) {
    const auto query = unmerged(found.query, facts_), value = unmerged(found.value, facts_);
    std::optional<Shaped> key = unmerged(untransposed(transposed_key), facts_);
    if (!key)
      if (const auto transposed = unmerged(transposed_key, facts_)) key = untransposed(*transposed);
    if (!query || !key || !value) return false;
    const auto heads = query->dim(1).constant();
    if (!heads || !key->dim(1).is_constant(*heads) || !value->dim(1).is_constant(*heads)) return false;
    found.query = *query;
    found.key = *key;
    found.value = *value;
    found.heads = found.kv_heads = *heads;
    found.view = found.result = HeadsView::kMerged;
    take_repeats(found);
    return true;
  }

  bool four(FoundHeads& found, const Shaped& transposed_key) {
    found.key = untransposed(transposed_key);
    const auto heads = found.query.dim(1).constant(), of_keys = found.key.dim(1).constant();
    const auto of_values = found.value.dim(1).constant();
    if (!heads || !of_keys || !of_values) {
      why_ = "how many heads there are is not known";
      return false;
    }
    found.heads = *heads;
    found.kv_heads = *of_keys;
    if (const auto query = unfolded(found.query)) {
      found.query = *query;
      found.heads = *query->dim(1).constant();
      found.view = HeadsView::kFolded;
      found.result = *of_values == *of_keys ? HeadsView::kFolded : HeadsView::kFour;
    }
    found.query = over_batch(found.query, found.key);
    if (*of_values != *of_keys) return false;
    if (*heads != *of_keys && *of_keys != 1) return false;
    if (found.heads == found.kv_heads) take_repeats(found);
    return true;
  }

  // Queries that were learned are one sample's, for all samples.
  Shaped over_batch(const Shaped& query, const Shaped& key) const {
    if (!query.dim(0).is_constant(1) || key.dim(0).is_unknown() || key.dim(0).is_constant(1)) return query;
    Shaped all = query;
    all.dims[0] = key.dim(0);
    ir::Value* batch = at_.slice(at_.shape(key.value), 0, 1);
    all.value = at_.emit("Expand", {query.value, at_.concat({batch, at_.list({1, 1, 1})}, 0)});
    return all;
  }

  // The queries of a group one after another: [batch, kv heads, group * queries, width] of [batch, heads, queries, width].
  std::optional<Shaped> unfolded(const Shaped& query) const {
    const ir::Node* reshape = producer_of(query.value, "Reshape");
    const auto from = reshape ? shaped(reshape->input(0), facts_) : std::nullopt;
    if (!from || from->rank() != 4 || !dim::same(from->dim(0), query.dim(0)) || !dim::same(from->dim(3), query.dim(3)))
      return std::nullopt;
    const auto heads = from->dim(1).constant(), kept = query.dim(1).constant();
    return heads && kept && *kept > 0 && *heads > *kept && *heads % *kept == 0 ? from : std::nullopt;
  }

  // [batch, kv heads, group, positions, width]; keys and values have one for the group, or one each.
  bool grouped(FoundHeads& found, const Shaped& transposed_key) {
    const Shaped key = untransposed(transposed_key);
    const auto kv_heads = found.query.dim(1).constant(), group = found.query.dim(2).constant();
    if (!kv_heads || !group || !key.dim(1).is_constant(*kv_heads) || !found.value.dim(1).is_constant(*kv_heads))
      return false;
    const bool is_shared = key.dim(2).is_constant(1) && found.value.dim(2).is_constant(1);
    if (!is_shared && !(key.dim(2).is_constant(*group) && found.value.dim(2).is_constant(*group))) return false;
    found.view = found.result = HeadsView::kGrouped;
    found.heads = *kv_heads * *group;
    found.kv_heads = is_shared ? *kv_heads : found.heads;
    found.query = with_heads(found.query, found.heads);
    found.key = is_shared ? squeezed(at_, key, 2) : with_heads(key, found.heads);
    found.value = is_shared ? squeezed(at_, found.value, 2) : with_heads(found.value, found.heads);
    return true;
  }

  Shaped with_heads(const Shaped& x, int64_t heads) const {
    const auto width = x.dim(4).constant();
    const ir::Node* transpose = producer_of(x.value, "Transpose");
    if (transpose && std::ranges::equal(transpose->attribute_ints("perm"), std::vector<int64_t>{0, 2, 3, 1, 4})) {
      const Shaped positions_first{transpose->input(0), {}, x.dtype};
      return transposed(
          at_, reshaped(at_, positions_first, {0, 0, heads, width.value_or(0)}, {x.dim(0), x.dim(3), heads, x.dim(4)}),
          {0, 2, 1, 3});
    }
    return reshaped(at_, x, {0, heads, -1, width.value_or(0)}, {x.dim(0), heads, x.dim(3), x.dim(4)});
  }

  void take_repeats(FoundHeads& found) const {
    const auto key = without_repeats(found.key, 1, facts_, at_), value = without_repeats(found.value, 1, facts_, at_);
    if (!key || !value || !key->dim(1).is_constant() || !dim::same(key->dim(1), value->dim(1))) return;
    found.key = *key;
    found.value = *value;
    found.kv_heads = *key->dim(1).constant();
  }

  bool take_widths(FoundHeads& found) {
    const auto width = found.query.from_back(1).constant(), value_width = found.value.from_back(1).constant();
    if (!width || !value_width || *width <= 0 || *value_width <= 0 || !found.key.from_back(1).is_constant(*width)) {
      why_ = "the width of a head is not known";
      return false;
    }
    found.width = *width;
    found.value_width = *value_width;
    return found.heads > 0 && found.kv_heads > 0 && found.heads % found.kv_heads == 0;
  }

  // One batch, and one length of keys and values.
  bool is_one_attention(FoundHeads& found) {
    if (!is_supported(found.value.dtype) || found.query.dtype != found.value.dtype ||
        found.key.dtype != found.value.dtype) {
      why_ = "q, k and v are not of one floating-point type";
      return false;
    }
    const bool has_batch = found.view != HeadsView::kHeadsFirst;
    if (has_batch &&
        (!dim::same(found.query.dim(0), found.key.dim(0)) || !dim::same(found.query.dim(0), found.value.dim(0)))) {
      why_ = "the batches of q, k and v are not known to be one";
      return false;
    }
    if (!dim::same(found.key.from_back(2), found.value.from_back(2))) {
      why_ = "k and v are not known to be of one length";
      return false;
    }
    return true;
  }

  const infer::Inference& facts_;
  const ops::Emit& at_;
  std::string& why_;
};

// A scale before the heads were split, and what splits them again without it.
Shaped unscaled(const Shaped& x, double& scale, const infer::Inference& facts, const ops::Emit& at) {
  const ir::Node* transpose = producer_of(x.value, "Transpose");
  if (!transpose) return x;
  ir::Value* split = transpose->input(0);
  const ir::Node* reshape = producer_of(split, "Reshape");
  const ScaledValue scaled = without_scale(reshape ? reshape->input(0) : split, facts);
  if (scaled.scale == 1) return x;
  scale *= scaled.scale;
  const auto permutation = transpose->attribute_ints("perm");
  Shaped plain = x;
  plain.value = at.transpose(reshape ? at.reshape(scaled.value, reshape->input(1)) : scaled.value,
                             {permutation.begin(), permutation.end()});
  return plain;
}

}  // namespace

std::optional<Shaped> unmerged(const Shaped& x, const infer::Inference& facts) {
  const ir::Node* reshape = producer_of(x.value, "Reshape");
  auto from = reshape ? shaped(reshape->input(0), facts) : std::nullopt;
  if (!from || from->rank() != 4 || x.rank() != 3 || !dim::same(from->dim(2), x.dim(1)) ||
      !dim::same(from->dim(3), x.dim(2)))
    return std::nullopt;
  return from;
}

std::optional<FoundHeads> find_heads(const FoundScores& scores, const MatrixProduct& values, bool merges_heads,
                                     bool is_reshaped, const infer::Inference& facts, const ops::Emit& at,
                                     std::string& why) {
  const ir::DataType type = values.right.dtype;
  double scale = 1;
  // Scales and Casts in any order.
  const auto operand = [&](const Shaped& x) {
    Shaped plain = x;
    for (int round = 0; round < 2; ++round) {
      const ScaledValue scaled = without_scale(plain.value, facts);
      scale *= scaled.scale;
      plain.value = without_cast(scaled.value, type, facts);
    }
    plain.dtype = facts.fact(plain.value).dtype;
    return plain.dtype == ir::DataType::kUndefined ? x : plain;
  };
  const Shaped query = operand(scores.product.left), transposed_key = operand(scores.product.right);
  auto found = HeadsFinder(facts, at, why).find(query, transposed_key, values.right, merges_heads);
  if (!found) return std::nullopt;
  found->query = unscaled(found->query, scale, facts, at);
  found->scale = scale;
  if (is_reshaped || found->view == HeadsView::kFolded) {
    const auto view = view_of_scores(*found, facts.fact(scores.first));
    const auto result = view_of_scores(*found, facts.fact(values.left.value));
    if (!view || !result || *view == HeadsView::kWindows || *result == HeadsView::kWindows) {
      why = "the scores are reshaped to what is not known to be heads";
      return std::nullopt;
    }
    found->view = *view;
    found->result = *result;
  }
  return found;
}

std::optional<HeadsView> view_of_scores(const FoundHeads& heads, const ops::Fact& scores) {
  if (scores.rank() < 3 || !dim::same(scores.dim(scores.rank() - 1), heads.keys())) return std::nullopt;
  const int rank = scores.rank();
  const bool has_queries = dim::same(scores.dim(rank - 2), heads.queries());
  if (heads.view == HeadsView::kHeadsFirst || heads.view == HeadsView::kBatchFirst) {
    const bool is_same = rank == 3 && has_queries && dim::same(scores.dim(0), heads.query.dim(0));
    return is_same ? std::optional(heads.view) : std::nullopt;
  }
  if (rank == 3) return has_queries ? std::optional(HeadsView::kMerged) : std::nullopt;
  const auto windows = scores.dim(1).constant();
  if (rank == 5 && windows && has_queries && scores.dim(2).is_constant(heads.heads) &&
      dim::same(scores.dim(0) * *windows, heads.batch()))
    return HeadsView::kWindows;
  if (!dim::same(scores.dim(0), heads.batch())) return std::nullopt;
  if (rank == 4 && scores.dim(1).is_constant(heads.heads) && has_queries) return HeadsView::kFour;
  const bool is_of_keys = scores.dim(1).is_constant(heads.kv_heads);
  if (rank == 4 && is_of_keys) return HeadsView::kFolded;
  if (rank == 5 && is_of_keys && scores.dim(2).is_constant(heads.heads / heads.kv_heads) && has_queries)
    return HeadsView::kGrouped;
  return std::nullopt;
}

}  // namespace thaw::optimizing
