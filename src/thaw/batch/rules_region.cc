// Batch rules of operators that count images or elements of the whole tensor: regions of images, indices of a pool.
#include <algorithm>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

std::vector<int64_t> axes_from_one(int rank) {
  std::vector<int64_t> axes;
  for (int axis = 1; axis <= rank; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

void batch_pool_indices(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const ir::Value* indices = node.output(1);
  const int rank = n.rank(0);
  batch_first(n, {.operands = "b"});
  if (!indices || !indices->is_used()) return;
  // They count elements of all samples together: less by those of the samples before.
  const Batched found = n.state().batched.at(indices);
  Emitter after(n.state(), *node.graph(), node.graph()->next(found.value->producer()));
  ir::Value* size = after.emit("Div", {after.emit("Size", {node.input(0)}), after.squeeze(after.batch_size(), {0})});
  ir::Value* before = after.emit("Mul", {after.sample_numbers(rank - (found.form == Form::kMerged ? 1 : 0)), size});
  n.become(1, after.emit("Sub", {found.value, before}), found.form);
}

void batch_unpool(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  if (n.is_batched(2)) NodeBatch::refuse("its size differs from sample to sample, so that results differ in size");
  const int rank = n.rank(0);
  ir::Value* size = nullptr;
  const auto known = n.output_fact(0).num_elements().constant();
  if (n.original(2)) {
    size = n.reduce("ReduceProd", n.original(2), {0}, false);
  } else if (known) {
    size = n.integer(*known);
  } else {
    NodeBatch::refuse("its indices count the whole tensor, whose size is not known");
  }
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  ir::Value* indices = n.emit("Add", {n.leading(1), n.emit("Mul", {n.sample_numbers(rank), size})});
  n.set_operand(0, n.joined(n.leading(0)));
  n.set_operand(1, n.joined(indices));
  if (n.original(2)) n.set_operand(2, n.concat({n.slice(n.shape(node.input(0)), 0, 1), n.slice(n.original(2), 1)}, 0));
  n.become(0, n.after().parted(node.output(0), both), Form::kLeading);
}

void batch_regions(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  for (int i = 3; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) NodeBatch::refuse("its size differs from sample to sample, so that results differ in size");
  ir::Value *regions = n.leading(1), *numbers = n.leading(2);
  if (n.is_batched(0)) {
    // The images of the samples before come first.
    ir::Value* images = n.leading(0);
    ir::Value* count = n.slice(n.shape(images), 1, 2);
    ir::Value* before = n.emit("Mul", {n.sample_numbers(1), count});
    numbers = n.emit("Add", {numbers, n.cast(before, n.fact(2).dtype)});
    n.set_operand(0, n.joined(images));
  }
  ir::Value* both = n.slice(n.shape(regions), 0, 2);
  n.set_operand(1, n.joined(regions));
  n.set_operand(2, n.emit("Reshape", {numbers, n.ints({-1})}));
  n.become(0, n.after().parted(node.output(0), both), Form::kLeading);
}

void batch_affine_grid(NodeBatch& n, const ops::Batching&) {
  if (n.is_batched(1)) NodeBatch::refuse("its size differs from sample to sample, so that results differ in size");
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  ir::Value* joined = n.joined(n.leading(0));
  ir::Value* size = n.concat({n.slice(n.shape(joined), 0, 1), n.slice(n.original(1), 1)}, 0);
  n.set_operand(0, joined);
  n.set_operand(1, size);
  n.become(0, n.after().parted(n.node().output(0), both), Form::kLeading);
}

void batch_loss(NodeBatch& n, const ops::Batching&) {
  if (n.is_batched(2)) NodeBatch::refuse("its weights differ from sample to sample");
  ir::Node& node = n.node();
  const int rank = n.rank(1);  // [n, d1, …]
  const ir::DataType type = n.fact(0).dtype, label_type = n.fact(1).dtype;
  const std::string reduction(node.attribute_string("reduction", "mean"));
  ir::Value *scores = n.leading(0), *labels = n.leading(1), *weights = n.original(2);
  ir::Value* both = n.slice(n.shape(labels), 0, 2);
  n.set_operand(0, n.joined(scores));
  n.set_operand(1, n.joined(labels));
  node.set_attribute({"reduction", std::string("none")});
  Emitter after = n.after();
  ir::Value* loss = after.parted(node.output(0), both);
  const auto all = axes_from_one(rank);
  if (reduction == "sum") loss = after.reduce("ReduceSum", loss, all, false);
  if (reduction == "mean") {
    // The mean is by weight, where what is ignored has none.
    const ir::Attribute* ignored = node.attribute("ignore_index");
    ir::Value* each = nullptr;
    ir::Value* counts = nullptr;
    if (ignored) {
      ir::Value* number = after.cast(after.integer(*ignored->as<int64_t>()), label_type);
      counts = after.emit("Not", {after.emit("Equal", {labels, number})});
    }
    if (weights) {
      ir::Value* zero = after.cast(after.integer(0), label_type);
      ir::Value* classes = counts ? after.emit("Where", {counts, labels, zero}) : labels;
      each = after.emit("Gather", {weights, classes}, {{"axis", int64_t{0}}});
      if (counts) each = after.emit("Mul", {each, after.cast(counts, type)});
    } else if (counts) {
      each = after.cast(counts, type);
    }
    loss = each ? after.emit("Div",
                             {after.reduce("ReduceSum", loss, all, false), after.reduce("ReduceSum", each, all, false)})
                : after.reduce("ReduceMean", loss, all, false);
  }
  n.become(0, loss, Form::kLeading);
  if (node.output(1)) n.become(1, after.parted(node.output(1), both), Form::kLeading);
}

}  // namespace thaw::batch
