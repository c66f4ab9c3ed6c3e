// Batch rules of operators that have a batch axis of their own: convolutions and pools, resizing, recurrence.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

bool is_read(const ir::Node& node, int output) {
  const ir::Value* value = node.output(output);
  return value && value->is_used();
}

// Operands that hold samples: those past the first count only where the operator says so.
bool holds_samples(const ir::Node& node, int i) {
  const std::string& op = node.op_type();
  if (i == 0) return true;
  if (op == "Attention" && node.domain().empty()) return true;
  if (op == "RotaryEmbedding") return i == 3;
  if (op == "GridSample" || op == "DeformConv") return op == "GridSample" || i == 2 || i == 4;
  if (op == "MultiHeadAttention") return i == 1 || i == 2 || i == 4 || i == 6 || i == 7;
  if (op == "SkipLayerNormalization" || op == "SkipSimplifiedLayerNormalization") return i == 1;
  return false;
}

}  // namespace

void batch_first(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const std::string& op = node.op_type();
  if ((op == "MaxPool") && is_read(node, 1))
    NodeBatch::refuse("its indices count the whole tensor, all samples together");
  if (op == "BatchNormalization" && (node.attribute_int("training_mode", 0) != 0 || is_read(node, 1)))
    NodeBatch::refuse("it is in training mode, where samples meet");
  // Without positions, the tables of cos and sin are a sample's own.
  if (op == "RotaryEmbedding" && !n.original(3)) NodeBatch::refuse("its tables are counted by sample");
  const bool is_attention = op == "Attention" && node.domain().empty();
  if (is_attention && n.original(3) && n.is_batched(3) && n.rank(3) < 4)
    NodeBatch::refuse("its mask differs from sample to sample");
  const auto is_shared_mask = [&](int i) { return is_attention && i == 3 && !n.is_batched(3) && n.rank(3) < 4; };
  bool can_merge = true;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    if (is_shared_mask(i)) continue;
    if (!holds_samples(node, i)) {
      if (n.is_batched(i)) NodeBatch::refuse(fmt::format("its operand {} differs from sample to sample", i));
      continue;
    }
    can_merge &= n.can_merge(i);
  }
  if (can_merge) {
    for (int i = 0; i < n.num_inputs(); ++i)
      if (n.original(i) && holds_samples(node, i) && !is_shared_mask(i)) n.set_operand(i, n.merged(i));
    return n.keep(Form::kMerged);
  }
  // A sample is a batch itself: both batches become one, and part again.
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.original(i) && holds_samples(node, i) && !is_shared_mask(i)) n.set_operand(i, n.joined(n.leading(i)));
  Emitter after = n.after();
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (ir::Value* y = node.output(i)) n.become(i, after.parted(y, both), Form::kLeading);
  }
}

void batch_resize(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  for (int i = 1; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) NodeBatch::refuse("its size differs from sample to sample");
  const bool by_axes = node.attribute("axes") != nullptr;
  const bool has_roi = node.op_type() == "Resize" && n.original(1) &&
                       node.attribute_string("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  ir::Value* sizes = node.op_type() == "Resize" ? n.original(3) : nullptr;
  if (n.can_merge(0) && NodeBatch::starts_with_one(n.output_fact(0))) {
    n.set_operand(0, n.merged(0));
    if (sizes && !by_axes) {
      n.set_operand(3, n.concat({n.batch_size(), n.slice(sizes, 1)}, 0));
      n.note_change();
    }
    return n.keep(Form::kMerged);
  }
  if (has_roi) NodeBatch::refuse("it crops by a region");
  n.note_change();
  ir::Value* x = n.leading(0);
  const ops::Fact &in = n.fact(0), &out = n.output_fact(0);
  if (in.rank() > 1 && out.rank() > 0 && dim::same(in.dim(0), out.dim(0))) {
    // The sample's first axis stays as it is: it joins the batch, and kernels see the axes they know.
    ir::Value* joined = n.joined(x);
    if (sizes && !by_axes) n.set_operand(3, n.concat({n.slice(n.shape(joined), 0, 1), n.slice(sizes, 1)}, 0));
    ir::Value* both = n.slice(n.shape(x), 0, 2);
    n.set_operand(0, joined);
    return n.become(0, n.after().parted(node.output(0), both), Form::kLeading);
  }
  if (node.attribute_string("mode", "nearest") == "cubic")
    NodeBatch::refuse("its scales are not known, and cubic kernels take no further axis");
  n.set_operand(0, x);
  if (by_axes) {
    const auto axes = node.attribute_ints("axes");
    node.set_attribute({"axes", NodeBatch::shifted({axes.begin(), axes.end()})});
  } else if (sizes) {
    n.set_operand(3, n.concat({n.batch_size(), sizes}, 0));
  } else {
    const int at = node.op_type() == "Resize" ? 2 : 1;
    ir::Value* one = n.unsqueeze(n.scalar(1, ir::DataType::kFloat), {0});
    n.set_operand(at, n.concat({one, n.original(at)}, 0));
  }
  n.keep(Form::kLeading);
}

void batch_recurrent(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  if (node.attribute_int("layout", 0) != 0) NodeBatch::refuse("its layout puts the batch first");
  for (int i : {1, 2, 3, 7})
    if (n.is_batched(i)) NodeBatch::refuse("its weights differ from sample to sample");
  const auto size_of = [&](int i, int axis) -> std::optional<int64_t> {
    const ops::Fact& fact = n.fact(i);
    return n.original(i) && fact.rank() == 3 ? fact.dim(axis).constant() : std::nullopt;
  };
  const auto either = [](std::optional<int64_t> a, std::optional<int64_t> b) { return a ? a : b; };
  const auto last = either(size_of(0, 2), size_of(1, 2));  // the weights know it too
  const int64_t hidden = node.attribute_int("hidden_size", 0);
  if (!last || hidden < 1) NodeBatch::refuse("its sizes are not known");
  // [batch, a, b, c] -> [a, batch * b, c]
  const auto joined = [&](int i, int64_t size) {
    return n.emit("Reshape", {n.transpose(n.leading(i), {1, 0, 2, 3}), n.ints({0, -1, size})});
  };
  ir::Value* x = joined(0, *last);
  ir::Value* lengths = n.original(4) ? n.emit("Reshape", {n.leading(4), n.ints({-1})}) : nullptr;
  ir::Value* hidden_state = n.original(5) ? joined(5, hidden) : nullptr;
  ir::Value* cell_state = n.original(6) ? joined(6, hidden) : nullptr;
  n.set_operand(0, x);
  if (lengths) n.set_operand(4, lengths);
  if (hidden_state) n.set_operand(5, hidden_state);
  if (cell_state) n.set_operand(6, cell_state);
  Emitter after = n.after();
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    ir::Value* y = node.output(i);
    if (!y) continue;
    const int64_t before = i == 0 ? 2 : 1;  // axes before the batch: time and directions, or directions
    // The samples, then each sample's own batch.
    ir::Value* outer = after.ints(std::vector<int64_t>(static_cast<size_t>(before), 0));
    ir::Value* target = after.concat({outer, after.batch_size(), after.ints({-1, hidden})}, 0);
    std::vector<int64_t> permutation{before};
    for (int64_t axis = 0; axis < before + 3; ++axis)
      if (axis != before) permutation.push_back(axis);
    n.become(i, after.transpose(after.emit("Reshape", {y, target}), permutation), Form::kLeading);
  }
}

}  // namespace thaw::batch
