// Batch rules of resizing, recurrence and reversal.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {

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
  if (node.attribute("scales")) NodeBatch::refuse("its scales are attributes, as before opset 9");
  if (node.attribute_string("mode", "nearest") == "cubic")
    NodeBatch::refuse("its scales are not known, and cubic kernels take no further axis");
  n.set_operand(0, x);
  if (has_roi && !by_axes) {
    // The region holds where each axis begins, then where each ends.
    const int64_t rank = in.rank();
    ir::Value* roi = n.original(1);
    const auto whole = [&](double at) { return n.unsqueeze(n.scalar(at, n.fact(1).dtype), {0}); };
    n.set_operand(1, n.concat({whole(0), n.slice(roi, 0, rank), whole(1), n.slice(roi, rank)}, 0));
  }
  if (by_axes) {
    const auto axes = node.attribute_ints("axes");
    node.set_attribute({"axes", NodeBatch::shifted({axes.begin(), axes.end()})});
  } else if (sizes) {
    n.set_operand(3, n.concat({n.batch_size(), sizes}, 0));
  } else {
    const int at = node.op_type() == "Resize" && n.opset() >= 11 ? 2 : 1;
    ir::Value* one = n.unsqueeze(n.scalar(1, ir::DataType::kFloat), {0});
    n.set_operand(at, n.concat({one, n.original(at)}, 0));
  }
  n.keep(Form::kLeading);
}

void batch_recurrent(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  for (int i : {1, 2, 3, 7})
    if (n.is_batched(i)) NodeBatch::refuse("its weights differ from sample to sample");
  if (node.attribute_int("layout", 0) != 0) return batch_first(n, {.operands = "bsssbbbs"});
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

void batch_reverse_sequence(NodeBatch& n, const ops::Batching&) {
  const bool batch_is_second = n.node().attribute_int("batch_axis", 1) == 1;
  const int rank = n.rank(0);
  if (rank < 2) NodeBatch::refuse("its operand has fewer than two axes");
  // A sample's own batch stands first for a while: [batch, b, time, …].
  std::vector<int64_t> swap(static_cast<size_t>(rank + 1));
  std::iota(swap.begin(), swap.end(), 0);
  if (batch_is_second) std::swap(swap[1], swap[2]);
  ir::Value* x = batch_is_second ? n.transpose(n.leading(0), swap) : n.leading(0);
  ir::Value* both = n.slice(n.shape(x), 0, 2);
  ir::Value* reversed = n.emit("ReverseSequence", {n.joined(x), n.emit("Reshape", {n.leading(1), n.ints({-1})})},
                               {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}});
  ir::Value* y = n.parted(reversed, both);
  n.become(0, batch_is_second ? n.transpose(y, swap) : y, Form::kLeading);
}

}  // namespace thaw::batch
