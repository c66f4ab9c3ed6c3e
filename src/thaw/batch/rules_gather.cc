// Batch rules of operators that read or write at indices.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

std::vector<int64_t> identity(int64_t rank) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

// The permutation that takes axis `from` to `to`, the others staying in order.
std::vector<int64_t> moving(int64_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> permutation = identity(rank);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return permutation;
}

constexpr int64_t kBatchDimsOpset = 12;  // GatherND knows batch axes

// [batch, …, k] -> [batch, …, k + 1]: the sample's number becomes the first of each index.
ir::Value* with_sample_numbers(NodeBatch& n, ir::Value* indices, int index_rank) {
  ir::Value* column = n.concat({n.slice(n.shape(indices), 0, index_rank), n.ints({1})}, 0);
  return n.concat({n.emit("Expand", {n.sample_numbers(index_rank), column}), indices}, -1);
}

// Rows [batch, length, …] of each sample by its indices, operand 1: those of all samples stand one after the other.
ir::Value* rows_of_samples(NodeBatch& n, ir::Value* data, int index_rank) {
  ir::Value* length = n.slice(n.shape(data), 1, 2);
  ir::Value* indices = n.cast(n.leading(1), ir::DataType::kInt64);
  indices = n.emit("Where", {n.emit("Less", {indices, n.integer(0)}), n.emit("Add", {indices, length}), indices});
  indices = n.emit("Add", {indices, n.emit("Mul", {n.sample_numbers(index_rank), length})});
  return n.emit("Gather", {n.joined(data), indices}, {{"axis", int64_t{0}}});
}

}  // namespace

void batch_gather(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const int data_rank = n.rank(0), index_rank = n.rank(1);
  const int64_t axis = n.positive_axis(node.attribute_int("axis", 0), data_rank);
  if (!n.is_batched(1)) {
    if (n.is_merged(0) && axis != 0) {
      n.set_operand(0, n.merged(0));
      return n.keep(Form::kMerged);
    }
    n.set_operand(0, n.leading(0));
    node.set_attribute({"axis", axis + 1});
    n.note_change();
    return n.keep(Form::kLeading);
  }
  if (!n.is_batched(0)) {
    if (axis == 0) {
      const Form form = n.form_of(1);
      n.set_operand(1, form == Form::kMerged ? n.merged(1) : n.leading(1));
      return n.keep(form);
    }
    // The batch comes out where the indices stand.
    n.set_operand(1, n.leading(1));
    n.keep(Form::kLeading);
    const int64_t rank = data_rank + index_rank;  // one more than a sample's result
    n.become(0, n.after().transpose(node.output(0), moving(rank, axis, 0)), Form::kLeading);
    return;
  }
  // Each sample its own rows: GatherND with the batch as a batch axis, the axis to read moved behind it.
  ir::Value* data = n.leading(0);
  if (axis != 0) data = n.transpose(data, moving(data_rank + 1, axis + 1, 1));
  ir::Value* rows = nullptr;
  if (n.opset() < kBatchDimsOpset) {
    rows = rows_of_samples(n, data, index_rank);
  } else {
    // GatherND takes negative indices by the standard, as Gather does.
    ir::Value* indices = n.unsqueeze(n.leading(1), {index_rank + 1});
    rows = n.emit("GatherND", {data, indices}, {{"batch_dims", int64_t{1}}});
  }
  if (axis != 0) {
    // [batch, indices..., before..., after...] -> [batch, before..., indices..., after...]
    std::vector<int64_t> permutation{0};
    for (int64_t i = 0; i < axis; ++i) permutation.push_back(1 + index_rank + i);
    for (int64_t i = 0; i < index_rank; ++i) permutation.push_back(1 + i);
    for (int64_t i = 1 + index_rank + axis; i < data_rank + index_rank; ++i) permutation.push_back(i);
    rows = n.transpose(rows, permutation);
  }
  n.become(0, rows, Form::kLeading);
}

void batch_gather_quantized(NodeBatch& n, const ops::Batching&) {
  for (int i : {0, 2, 3})
    if (n.is_batched(i)) NodeBatch::refuse("its rows differ from sample to sample");
  if (n.node().attribute_int("gather_axis", 0) != 0) NodeBatch::refuse("it reads along another axis than the first");
  const Form form = n.form_of(1);
  n.set_operand(1, form == Form::kMerged ? n.merged(1) : n.leading(1));
  n.keep(form);
}

void batch_gather_elements(NodeBatch& n, const ops::Batching&) {
  const int64_t axis = n.node().attribute_int("axis", 0);
  for (int i = 0; i < 2; ++i) n.set_operand(i, n.leading(i));
  if (axis >= 0) n.node().set_attribute({"axis", axis + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_gather_nd(NodeBatch& n, const ops::Batching&) {
  const int64_t batch_dims = n.node().attribute_int("batch_dims", 0);
  if (batch_dims == 0 && !n.is_batched(0)) {
    n.set_operand(1, n.leading(1));
    return n.keep(Form::kLeading);
  }
  if (n.opset() < kBatchDimsOpset) {
    const int index_rank = n.rank(1);
    n.set_operand(0, n.leading(0));
    n.set_operand(1, with_sample_numbers(n, n.leading(1), index_rank));
    n.note_change();
    return n.keep(Form::kLeading);
  }
  for (int i = 0; i < 2; ++i) n.set_operand(i, n.leading(i));
  n.node().set_attribute({"batch_dims", batch_dims + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_scatter_elements(NodeBatch& n, const ops::Batching&) {
  const int64_t axis = n.node().attribute_int("axis", 0);
  for (int i = 0; i < 3; ++i) n.set_operand(i, n.leading(i));
  if (axis >= 0) n.node().set_attribute({"axis", axis + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_scatter_nd(NodeBatch& n, const ops::Batching&) {
  // There is no batch axis: the sample's number becomes the first of each index.
  const int index_rank = n.rank(1);
  ir::Value *data = n.leading(0), *indices = n.leading(1), *updates = n.leading(2);
  n.set_operand(0, data);
  n.set_operand(1, with_sample_numbers(n, indices, index_rank));
  n.set_operand(2, updates);
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace thaw::batch
