// Batch rules of operators that name axes: an `axis`, `axes` to reduce, parts to join or to split into.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

void require_alone(NodeBatch& n) {
  for (int i = 1; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) NodeBatch::refuse(fmt::format("its operand {} differs from sample to sample", i));
}

// Joins the operands first, first + step, …, along an axis.
void concat_parts(NodeBatch& n, int first, int step) {
  ir::Node& node = n.node();
  const int64_t axis = node.attribute_int("axis", 1);
  bool merged = n.positive_axis(axis, n.rank(first)) != 0;
  for (int i = first; i < n.num_inputs(); i += step) merged &= n.can_merge(i) && (!n.is_batched(i) || n.is_merged(i));
  for (int i = first; i < n.num_inputs(); i += step) n.set_operand(i, merged ? n.merged(i) : n.leading(i));
  if (!merged && axis >= 0) {
    node.set_attribute({"axis", NodeBatch::shifted(axis)});
    n.note_change();
  }
  n.keep(merged ? Form::kMerged : Form::kLeading);
}

}  // namespace

void batch_axis(NodeBatch& n, const ops::Batching& batching) {
  require_alone(n);
  ir::Node& node = n.node();
  const std::string& op = node.op_type();
  int64_t otherwise = batching.axis;
  if (n.opset() < 13 && (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax")) otherwise = 1;
  const std::string name = op == "UnfoldTensor" ? "dim" : "axis";
  const int64_t axis = node.attribute_int(name, otherwise);
  if (n.is_merged(0) && n.positive_axis(axis, n.rank(0)) != 0) {
    return n.keep_on(Form::kMerged);
  }
  if (n.rank(0) == 0) NodeBatch::refuse("its operand has no axis");
  n.set_operand(0, n.leading(0));
  if (axis >= 0) {
    node.set_attribute({name, NodeBatch::shifted(axis)});
    n.note_change();
  }
  n.keep(Form::kLeading);
}

void batch_cumulative(NodeBatch& n, const ops::Batching&) {
  require_alone(n);
  ir::Value* axis = n.shifted_axes(1);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, axis);
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_one_hot(NodeBatch& n, const ops::Batching& batching) {
  if (n.is_batched(1)) NodeBatch::refuse("its depth differs from sample to sample, so that results differ in size");
  ir::Node& node = n.node();
  const int rank = n.rank(0) + 1;
  const int64_t axis = n.positive_axis(node.attribute_int("axis", batching.axis), rank);
  if (!n.is_batched(2) && n.is_merged(0) && axis != 0) return n.keep_on(Form::kMerged);
  const bool own_indices = n.is_batched(0);
  if (own_indices) {
    n.set_operand(0, n.leading(0));
    node.set_attribute({"axis", axis + 1});
  }
  n.note_change();
  if (!n.is_batched(2)) return n.keep(Form::kLeading);
  // Where it is hot, from the two values that each sample has.
  std::vector<int64_t> axes;
  for (int64_t k = 1; k <= rank; ++k) axes.push_back(k);
  ir::Value* values = n.leading(2);
  const auto value = [&](int64_t k) {
    return n.unsqueeze(n.emit("Gather", {values, n.integer(k)}, {{"axis", int64_t{1}}}), axes);
  };
  ir::Value *off = value(0), *on = value(1);
  n.set_operand(2, n.ints({0, 1}));
  Emitter after = n.after();
  ir::Value* hot = after.cast(node.output(0), ir::DataType::kBool);
  if (!own_indices) hot = after.unsqueeze(hot, {0});
  n.become(0, after.emit("Where", {hot, on, off}), Form::kLeading);
}

void batch_compress(NodeBatch& n, const ops::Batching&) {
  if (n.is_batched(1)) NodeBatch::refuse("what it keeps differs from sample to sample, so that results differ in size");
  const ir::Attribute* axis = n.node().attribute("axis");
  n.set_operand(0, axis ? n.leading(0) : n.emit("Reshape", {n.leading(0), n.ints({0, -1})}));
  n.node().set_attribute({"axis", axis ? NodeBatch::shifted(*axis->as<int64_t>()) : int64_t{1}});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_dft(NodeBatch& n, const ops::Batching&) {
  require_alone(n);
  ir::Node& node = n.node();
  if (n.opset() < 20) {
    node.set_attribute({"axis", NodeBatch::shifted(node.attribute_int("axis", 1))});
  } else if (n.original(2)) {
    n.set_operand(2, n.shifted_axes(2));
  }
  n.set_operand(0, n.leading(0));
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_reduce(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  if (!node.domain().empty()) require_alone(n);
  const int rank = n.rank(0);
  std::vector<int64_t> axes(node.attribute_ints("axes").begin(), node.attribute_ints("axes").end());
  const bool is_onnx = node.domain().empty();  // com.microsoft's have attributes, and scales as operands
  const bool by_operand = is_onnx && n.original(1) != nullptr;
  if (by_operand) {
    const auto constant = n.constant_ints(1);
    const auto count = n.rank(1) == 1 ? n.fact(1).dim(0).constant() : std::nullopt;
    if (!constant && (!count || *count == 0 || n.is_batched(1))) NodeBatch::refuse("its axes are not constant");
    if (!constant) {
      ir::Value* moved = n.shifted_axes(1);
      n.set_operand(0, n.leading(0));
      n.set_operand(1, moved);
      n.note_change();
      return n.keep(Form::kLeading);
    }
    axes = *constant;
  } else if (axes.empty() && node.op_type() == "MeanVarianceNormalization") {
    axes = {0, 2, 3};
  }
  if (axes.empty() && node.attribute_int("noop_with_empty_axes", 0) != 0) {
    return n.keep_on(n.form_of(0));
  }
  const bool all = axes.empty();
  const bool first =
      all || std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return n.positive_axis(a, rank) == 0; });
  if (n.is_merged(0) && !first) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* x = n.leading(0);
  if (all) {
    // A scalar gets an axis to reduce over.
    if (rank == 0) x = n.unsqueeze(x, {1});
    axes.resize(static_cast<size_t>(std::max(rank, 1)));
    std::iota(axes.begin(), axes.end(), 1);
    if (rank == 0) node.set_attribute({"keepdims", int64_t{0}});
  } else {
    axes = NodeBatch::shifted(axes);
  }
  n.set_operand(0, x);
  const bool takes_operand =
      by_operand || (is_onnx && n.opset() >= 18) || (is_onnx && node.op_type() == "ReduceSum" && n.opset() >= 13);
  if (takes_operand && node.op_type() != "MeanVarianceNormalization") {
    n.set_operand(1, n.ints(axes));
  } else {
    node.set_attribute({"axes", axes});
  }
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_concat(NodeBatch& n, const ops::Batching&) { concat_parts(n, 0, 1); }

void batch_qlinear_concat(NodeBatch& n, const ops::Batching&) {
  for (int i = 0; i < n.num_inputs(); ++i)
    if ((i < 2 || i % 3 != 2) && n.is_batched(i)) NodeBatch::refuse("its scales differ from sample to sample");
  concat_parts(n, 2, 3);
}

void batch_split(NodeBatch& n, const ops::Batching&) {
  require_alone(n);
  const int64_t axis = n.node().attribute_int("axis", 0);
  const bool merged = n.is_merged(0) && n.positive_axis(axis, n.rank(0)) != 0;
  if (!merged && axis >= 0) {
    n.node().set_attribute({"axis", NodeBatch::shifted(axis)});
    n.note_change();
  }
  n.keep_on(merged ? Form::kMerged : Form::kLeading);
}

}  // namespace thaw::batch
