// Attention: softmax(scale * q k^T + mask) v, with the heads as an axis of their own (Vaswani et al., "Attention Is All You
// Need", 3.2). com.microsoft's MultiHeadAttention for ONNX Runtime, ONNX's Attention from opset 23 on.
//
// The product of q and k is found by algebra: numbers may stand before it, after it, or on q and k. The heads are axis 1 of
// four, [batch, heads, positions, width], or axis 0 of three.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

struct FoundAttention {
  ir::Value *query, *key, *value;  // [(batch,) heads, positions, width]
  ir::Value* mask = nullptr;       // added to the scores; null: none
  double scale = 1;
  int64_t heads = 0, width = 0, value_width = 0;
  int rank = 4;
};

class AttentionFinder {
 public:
  AttentionFinder(const infer::Inference& facts, const ops::Emit& at) : facts_(facts), at_(at) {}

  // The attention whose result is that of a MatMul; nullopt where it is none.
  std::optional<FoundAttention> find(const ir::Node& product) {
    if (product.op_type() != "MatMul" || !product.domain().empty()) return std::nullopt;
    const ir::Node* softmax = softmax_of(product.input(0));
    if (!softmax) return std::nullopt;
    FoundAttention found;
    found.value = product.input(1);
    found.rank = facts_.fact(found.value).rank();
    if ((found.rank != 3 && found.rank != 4) || !find_scores(softmax->input(0), found) || !has_heads(found) ||
        !fits(found))
      return std::nullopt;
    return found;
  }

 private:
  // Over the last axis, read by the product alone.
  const ir::Node* softmax_of(const ir::Value* value) const {
    const ir::Node* node = value ? value->producer() : nullptr;
    if (!node || node->op_type() != "Softmax" || !node->domain().empty() || !is_read_once(*value)) return nullptr;
    const int rank = facts_.fact(value).rank();
    const int64_t axis = node->attribute_int("axis", -1);
    return rank > 0 && (axis == -1 || axis == rank - 1) && at_.writer().opset() >= 13 ? node : nullptr;
  }

  // The scores are a product of q and k, or that and a mask.
  bool find_scores(ir::Value* scores, FoundAttention& found) {
    if (!is_read_once(*scores)) return false;
    const rewrite::Sum sum = rewrite::sum_of(scores, facts_.result());
    if (sum.constant != 0) return false;
    if (sum.terms.size() == 1) return find_product(sum.terms[0].value, sum.terms[0].coefficient, found);
    if (sum.terms.size() != 2) return false;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const rewrite::Summand &product = sum.terms[k], &mask = sum.terms[1 - k];
      if (mask.coefficient != 1 || !find_product(product.value, product.coefficient, found)) continue;
      found.mask = mask.value;
      return true;
    }
    return false;
  }

  bool find_product(ir::Value* value, double coefficient, FoundAttention& found) {
    const rewrite::Product product = rewrite::product_of(value, facts_.result());
    if (product.factors.size() != 1 || product.factors[0].exponent != 1) return false;
    const ir::Value* made = product.factors[0].value;
    const ir::Node* matmul = made->producer();
    if (!matmul || matmul->op_type() != "MatMul" || !matmul->domain().empty() || !is_read_once(*made)) return false;
    const rewrite::Product q = rewrite::product_of(matmul->input(0), facts_.result()),
                           k = rewrite::product_of(matmul->input(1), facts_.result());
    const auto is_scaled = [](const rewrite::Product& p) {
      return p.factors.size() == 1 && p.factors[0].exponent == 1;
    };
    found.scale = coefficient * product.coefficient;
    found.query = matmul->input(0);
    ir::Value* turned = matmul->input(1);
    if (is_scaled(q) && have_same_shape(facts_.fact(q.factors[0].value), facts_.fact(found.query))) {
      found.query = q.factors[0].value;
      found.scale *= q.coefficient;
    }
    if (is_scaled(k) && have_same_shape(facts_.fact(k.factors[0].value), facts_.fact(turned))) {
      turned = k.factors[0].value;
      found.scale *= k.coefficient;
    }
    found.key = untransposed(turned, found);
    return found.key != nullptr && found.scale > 0;
  }

  // k from its transpose: what the Transpose behind it is of, with the last two axes in their places.
  ir::Value* untransposed(ir::Value* turned, const FoundAttention& found) const {
    const ir::Node* transpose = turned->producer();
    if (!transpose || transpose->op_type() != "Transpose" || !transpose->domain().empty()) return nullptr;
    const auto given = transpose->attribute_ints("perm");
    std::vector<int64_t> permutation(given.begin(), given.end());
    if (permutation.size() != static_cast<size_t>(found.rank)) return nullptr;
    std::swap(permutation[permutation.size() - 2], permutation[permutation.size() - 1]);
    if (std::ranges::is_sorted(permutation)) return transpose->input(0);
    return at_.transpose(transpose->input(0), permutation);
  }

  bool has_heads(FoundAttention& found) const {
    const ops::Fact &q = facts_.fact(found.query), &v = facts_.fact(found.value);
    if (q.rank() != found.rank || v.rank() != found.rank || !ir::is_floating(q.dtype) || q.dtype != v.dtype)
      return false;
    const int axis = found.rank - 3;
    const auto heads = q.dim(axis).constant(), heads_of_value = v.dim(axis).constant();
    const auto width = q.dim(axis + 2).constant(), value_width = v.dim(axis + 2).constant();
    if (!heads || !width || !value_width || heads != heads_of_value) return false;
    found.heads = *heads;
    found.width = *width;
    found.value_width = *value_width;
    return true;
  }

  // One batch and one length of keys and values; a mask of [batch or 1, heads or 1, queries, keys].
  bool fits(const FoundAttention& found) const {
    const ops::Fact &q = facts_.fact(found.query), &v = facts_.fact(found.value);
    const int axis = found.rank - 3;
    if (found.rank == 4 && !dim::same(q.dim(0), v.dim(0))) return false;
    if (!found.mask) return true;
    const ops::Fact& mask = facts_.fact(found.mask);
    if (mask.dtype != q.dtype || mask.rank() < 2 || mask.rank() > found.rank) return false;
    const int last = mask.rank() - 1;
    if (!dim::same(mask.dim(last), v.dim(axis + 1)) || !dim::same(mask.dim(last - 1), q.dim(axis + 1))) return false;
    for (int i = 0; i < last - 1; ++i) {
      const dim::Dim of_query = q.dim(found.rank - mask.rank() + i);
      if (!mask.dim(i).is_constant(1) && !dim::same(mask.dim(i), of_query)) return false;
    }
    return true;
  }

  const infer::Inference& facts_;
  const ops::Emit& at_;
};

// [(batch,) heads, positions, width] as [batch, positions, heads * width].
ir::Value* packed(const ops::Emit& at, ir::Value* x, int rank, int64_t width) {
  if (rank == 4) return at.reshape(at.transpose(x, {0, 2, 1, 3}), at.list({0, 0, width}));
  return at.reshape(at.transpose(x, {1, 0, 2}), at.list({1, -1, width}));
}

ir::Value* with_four_axes(const ops::Emit& at, ir::Value* mask, int rank) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < 4 - rank; ++axis) axes.push_back(axis);
  return axes.empty() ? mask : at.unsqueeze(mask, axes);
}

ir::Value* multi_head_attention(const ops::Emit& at, const FoundAttention& found, int mask_rank) {
  std::vector<ir::Value*> inputs = {packed(at, found.query, found.rank, found.heads * found.width),
                                    packed(at, found.key, found.rank, found.heads * found.width),
                                    packed(at, found.value, found.rank, found.heads * found.value_width)};
  if (found.mask) inputs.insert(inputs.end(), {nullptr, nullptr, with_four_axes(at, found.mask, mask_rank)});
  ir::Value* joined =
      rewrite::emit_node(at, {.op = "MultiHeadAttention",
                              .inputs = std::move(inputs),
                              .attributes = {{"num_heads", found.heads}, {"scale", static_cast<float>(found.scale)}},
                              .domain = ops::kMicrosoft})
          .front();
  // Back to the heads as an axis: what joins them again takes that away.
  if (found.rank == 4) {
    ir::Value* split = at.reshape(joined, at.list({0, 0, found.heads, found.value_width}));
    return at.transpose(split, {0, 2, 1, 3});
  }
  return at.transpose(at.reshape(joined, at.list({-1, found.heads, found.value_width})), {1, 0, 2});
}

ir::Value* portable_attention(const ops::Emit& at, const FoundAttention& found, int mask_rank) {
  const auto four = [&](ir::Value* x) { return found.rank == 4 ? x : at.unsqueeze(x, {0}); };
  std::vector<ir::Value*> inputs = {four(found.query), four(found.key), four(found.value)};
  if (found.mask) inputs.push_back(with_four_axes(at, found.mask, mask_rank));
  ir::Value* result = at.emit("Attention", std::move(inputs), {{"scale", static_cast<float>(found.scale)}});
  return found.rank == 4 ? result : at.squeeze(result, {0});
}

bool fuse_at(ir::Model& model, infer::Inference& facts, ir::Node* product, OptimizeTarget target,
             rewrite::Changes& changes) {
  rewrite::Patch patch(model, {});
  patch.emitter().set_origin(product->name.empty() ? product->output(0)->name() : product->name);
  const ops::Emit at = patch.before(product);
  try {
    const auto found = AttentionFinder(facts, at).find(*product);
    if (!found) return false;
    const int mask_rank = found->mask ? facts.fact(found->mask).rank() : 0;
    const bool ort = target == OptimizeTarget::kOrt;
    ir::Value* now = ort ? multi_head_attention(at, *found, mask_rank) : portable_attention(at, *found, mask_rank);
    changes.made.push_back(
        {.kind = ort ? "MultiHeadAttention" : "Attention",
         .place = product->describe(),
         .replaced = {{fmt::format("{} heads of {}{}", found->heads, found->width, found->mask ? ", with a mask" : ""),
                       ort ? "MultiHeadAttention" : "Attention"}}});
    patch.replace(product->output(0), now);
  } catch (const ops::CannotWrite&) {
    return false;
  }
  patch.apply(facts);
  return true;
}

}  // namespace

int fuse_attention(ir::Model& model, infer::Inference& facts, OptimizeTarget target, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* node : model.graph->nodes())
    if (node->op_type() == "MatMul" && node->output(0) && node->output(0)->is_used() &&
        fuse_at(model, facts, node, target, changes))
      ++count;
  return count;
}

}  // namespace thaw::optimizing
