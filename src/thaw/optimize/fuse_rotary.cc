// Rotary embeddings: com.microsoft's RotaryEmbedding for ONNX Runtime, ONNX's from opset 23 on. The angles are those that
// the model computes, whatever of: positions of a text, or of an image's two axes.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/rotary/find.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kRotary = "RotaryEmbedding";

class RotaryWriter {
 public:
  RotaryWriter(const FoundRotary& found, OptimizeTarget target, const ops::Emit& at)
      : found_(found), target_(target), at_(at), has_batch_(found.x.rank() == 4) {}

  ir::Value* write() const {
    const int64_t width = *found_.x.from_back(1).constant();
    ir::Value* x = found_.x.value;
    if (is_rotated()) return rotated(width);
    if (found_.positions_first) {
      x = at_.reshape(x, at_.list({has_batch_ ? 0 : 1, has_batch_ ? 0 : -1, found_.heads * width}));
    } else if (!has_batch_) {
      x = at_.unsqueeze(x, {0});
    }
    ir::Value* result = rotated(x, width);
    if (!found_.positions_first) return has_batch_ ? result : at_.squeeze(result, {0});
    return at_.reshape(result,
                       has_batch_ ? at_.list({0, 0, found_.heads, width}) : at_.list({-1, found_.heads, width}));
  }

 private:
  // Behind a Transpose that only puts the heads first: the operator reads what it is of, and a Transpose after it goes with
  // others there.
  bool is_rotated() const {
    const ir::Node* transpose = producer_of(found_.x.value, "Transpose");
    return !found_.positions_first && has_batch_ && transpose &&
           std::ranges::equal(transpose->attribute_ints("perm"), std::vector<int64_t>{0, 2, 1, 3});
  }

  ir::Value* rotated(int64_t width) const {
    ir::Value* positions_first = found_.x.value->producer()->input(0);
    ir::Value* merged = at_.reshape(positions_first, at_.list({0, 0, found_.heads * width}));
    ir::Value* split = at_.reshape(rotated(merged, width), at_.list({0, 0, found_.heads, width}));
    return at_.transpose(split, {0, 2, 1, 3});
  }

  bool has_one_batch() const { return found_.cos.rank() < 4 || found_.cos.dim(0).is_constant(1); }

  ir::Value* rotated(ir::Value* x, int64_t width) const {
    ops::Attributes attributes;
    if (found_.interleaved) attributes.push_back({"interleaved", int64_t{1}});
    if (found_.positions_first || is_rotated() || found_.rotary_dim < width)
      attributes.push_back({"num_heads", found_.heads});
    if (found_.rotary_dim < width) attributes.push_back({"rotary_embedding_dim", found_.rotary_dim});
    if (target_ != OptimizeTarget::kOrt)
      return at_.emit(kRotary, {x, of_each_batch(found_.cos, x), of_each_batch(found_.sin, x)}, std::move(attributes));
    return rewrite::emit_node(at_, {.op = kRotary,
                                    .inputs = {x, positions(), table(found_.cos), table(found_.sin)},
                                    .attributes = std::move(attributes),
                                    .domain = ops::kMicrosoft})
        .front();
  }

  // One of each pair of angles.
  ir::Value* of_pairs(const Shaped& angles) const {
    if (!found_.doubled) return angles.value;
    if (!found_.interleaved) return at_.slice(angles.value, 0, found_.rotary_dim / 2, -1);
    return at_.emit("Slice",
                    {angles.value, at_.list({0}), at_.list({found_.rotary_dim}), at_.list({-1}), at_.list({2})});
  }

  // [batch * positions, angles]
  ir::Value* table(const Shaped& angles) const {
    return at_.reshape(of_pairs(angles), at_.list({-1, found_.rotary_dim / 2}));
  }

  // [batch, positions, angles], or of one batch.
  ir::Value* without_heads(ir::Value* angles) const {
    const int rank = found_.cos.rank();
    if (rank == 4) return at_.squeeze(angles, {found_.positions_first ? 2 : 1});
    if (rank == 3 && found_.positions_first) angles = at_.squeeze(angles, {1});
    return rank == 2 || found_.positions_first ? at_.unsqueeze(angles, {0}) : angles;
  }

  ir::Value* of_each_batch(const Shaped& angles, ir::Value* x) const {
    ir::Value* own = without_heads(of_pairs(angles));
    if (!has_one_batch() || !has_batch_ || found_.x.dim(0).is_constant(1)) return own;
    ir::Value* batch = at_.slice(at_.shape(x), 0, 1);
    return at_.emit("Expand", {own, at_.concat({batch, at_.list({1, 1})}, 0)});
  }

  // Where each position stands in the table: from 0 on in one batch, and one after the other in several.
  ir::Value* positions() const {
    if (has_one_batch()) return at_.list({0});
    ir::Value* sizes = at_.slice(at_.shape(without_heads(found_.cos.value)), 0, 2);
    ir::Value* count = at_.emit("ReduceProd", {sizes}, {{"keepdims", int64_t{0}}});
    return at_.reshape(at_.emit("Range", {at_.integer(0), count, at_.integer(1)}), sizes);
  }

  const FoundRotary& found_;
  OptimizeTarget target_;
  const ops::Emit& at_;
  bool has_batch_;
};

class RotaryFuser {
 public:
  explicit RotaryFuser(Context& context)
      : model_(context.model),
        facts_(context.facts()),
        halves_(context.facts()),
        target_(context.target),
        changes_(context.changes) {}

  bool fuse(ir::Node* node) {
    std::string why;
    auto found = find_rotary(*node, facts_, halves_, why);
    if (found && write(*node, *found, why)) return true;
    if (!why.empty())
      changes_.left.push_back(
          {.kind = "rotary", .location = node->describe(), .part = {}, .replaced = {}, .why = std::move(why)});
    return false;
  }

 private:
  bool write(ir::Node& node, const FoundRotary& found, std::string& why) {
    rewrite::Patch patch(model_, {});
    ir::Node* last = found.root->producer();
    patch.emitter().set_origin(rewrite::name_of(node));
    try {
      patch.replace(found.root, RotaryWriter(found, target_, patch.before(last)).write());
    } catch (const ops::CannotWrite& error) {
      why = error.why;
      return false;
    }
    const int64_t width = *found.x.from_back(1).constant();
    changes_.made.push_back({.kind = std::string(kRotary),
                             .location = node.describe(),
                             .part = {},
                             .replaced = {{fmt::format("{} of {} elements of {} head{}", found.rotary_dim, width,
                                                       found.heads, found.heads == 1 ? "" : "s"),
                                           std::string(kRotary)}}});
    patch.apply(facts_);
    return true;
  }

  ir::Model& model_;
  infer::Inference& facts_;
  EqualHalves halves_;
  OptimizeTarget target_;
  rewrite::Changes& changes_;
};

}  // namespace

int fuse_rotary(Context& context) {
  RotaryFuser fuser(context);
  return rewrite::for_sites(context, [&](ir::Node* node) {
    const std::string& op = node->op_type();
    const bool may_end = op == "Add" || op == "Sub" || op == "Concat" || op == "Reshape";
    return may_end && node->domain().empty() && node->output(0) && node->output(0)->is_used() && fuser.fuse(node);
  });
}

}  // namespace thaw::optimizing
