// Batch rules of operators that have a batch axis of their own, or none and see only their last axes.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

constexpr int kMaskRank = 4;  // [batch, heads, queries, keys]

bool is_read(const ir::Node& node, int output) {
  const ir::Value* value = node.output(output);
  return value && value->is_used();
}

// The part that operand i plays: a letter of ops::Batching.
char role_of(NodeBatch& n, const ops::Batching& batching, int i) {
  const char role = batching.operand(i);
  if (role == 'o') return n.rank(i) == 1 ? 's' : 'b';
  // Without positions, the tables of cos and sin are a sample's own.
  const bool is_table = n.node().op_type() == "RotaryEmbedding" && n.node().domain().empty() && (i == 1 || i == 2);
  return is_table && !n.original(3) ? 'b' : role;
}

// A mask that broadcasts over the batch as it is.
bool is_shared_mask(NodeBatch& n, int i) {
  return !n.is_batched(i) && (n.rank(i) < kMaskRank || n.fact(i).dim(0).is_constant(1));
}

void check_operands(NodeBatch& n, const ops::Batching& batching) {
  const ir::Node& node = n.node();
  const std::string& op = node.op_type();
  if ((op == "QGemm" || op == "GemmFloat8") && node.attribute_int("transA", 0) != 0)
    NodeBatch::refuse("its operand 0 is transposed");
  if (node.domain() == ops::kMl && n.rank(0) < 2) NodeBatch::refuse("one row of features has no axis for the batch");
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    const char role = role_of(n, batching, i);
    if (role == 's' && n.is_batched(i))
      NodeBatch::refuse(fmt::format("its operand {} differs from sample to sample", i));
    if (role != 's' && n.rank(i) < (role == '1' ? 2 : 1))
      NodeBatch::refuse(fmt::format("its operand {} has no axis for the batch", i));
    // A list of lengths and offsets of all sequences, as attention takes it too.
    const auto first = n.rank(0) > 0 ? n.fact(0).dim(0).constant() : std::nullopt;
    const bool is_list =
        role == 'b' && n.rank(i) == 1 && first && n.fact(i).dim(0).constant().value_or(*first) != *first;
    if (is_list) NodeBatch::refuse(fmt::format("its operand {} counts the sequences of a batch together", i));
  }
}

bool can_merge(NodeBatch& n, const ops::Batching& batching) {
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    const char role = role_of(n, batching, i);
    if (role == 'b' && !n.can_merge(i)) return false;
    if (role == '1' && !n.fact(i).dim(1).is_constant(1)) return false;
  }
  return true;
}

std::vector<int64_t> swapped_first(int rank) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[0], permutation[1]);
  return permutation;
}

// [batch, 2, b, …] -> [2, batch * b, …]
ir::Value* joined_second(NodeBatch& n, int i) {
  ir::Value* x = n.transpose(n.leading(i), swapped_first(n.rank(i) + 1));
  return n.emit("Reshape", {x, n.concat({n.ints({0, -1}), n.slice(n.shape(x), 3)}, 0)});
}

// [2, batch * b, …] -> [batch, 2, b, …]
ir::Value* parted_second(Emitter& after, ir::Value* y, ir::Value* both, int rank) {
  ir::Value* parted =
      after.emit("Reshape", {y, after.concat({after.ints({0}), both, after.slice(after.shape(y), 2)}, 0)});
  return after.transpose(parted, swapped_first(rank + 1));
}

// Operand i, leading and lined up to the right of `rank` axes of a sample, with its first axis as long as the batch of
// a sample: [batch, b, …]; joined to [batch * b, …].
ir::Value* joined_to(NodeBatch& n, int i, int rank, ir::Value* both) {
  ir::Value* ones = n.ints(std::vector<int64_t>(static_cast<size_t>(rank - 1), 1));
  return n.joined(n.emit("Expand", {n.aligned(i, rank), rank > 1 ? n.concat({both, ones}, 0) : both}));
}

void run_merged(NodeBatch& n, const ops::Batching& batching) {
  ir::Node& node = n.node();
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    const char role = role_of(n, batching, i);
    if (role == 'b') n.set_operand(i, n.merged(i));
    if (role == 'm' && !is_shared_mask(n, i))
      n.set_operand(i, n.rank(i) == kMaskRank ? n.merged(i) : n.aligned(i, kMaskRank - 1));
    if (role == '1') n.set_operand(i, joined_second(n, i));
  }
  n.keep(Form::kMerged);
  Emitter after = n.after();
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (batching.output(i) != '1' || !is_read(node, i)) continue;
    ir::Value* both = after.concat({after.batch_size(), after.ints({1})}, 0);
    n.become(i, parted_second(after, node.output(i), both, n.output_fact(i).rank()), Form::kLeading);
  }
}

// A sample is a batch itself: both batches become one, and part again.
void run_joined(NodeBatch& n, const ops::Batching& batching) {
  ir::Node& node = n.node();
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    const char role = role_of(n, batching, i);
    if (role == 'b') n.set_operand(i, n.joined(n.leading(i)));
    if (role == 'm' && !is_shared_mask(n, i)) n.set_operand(i, joined_to(n, i, kMaskRank, both));
    if (role == '1') n.set_operand(i, joined_second(n, i));
  }
  Emitter after = n.after();
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    ir::Value* y = node.output(i);
    if (!y || (i > 0 && !y->is_used())) continue;
    const bool second = batching.output(i) == '1';
    n.become(i, second ? parted_second(after, y, both, n.output_fact(i).rank()) : after.parted(y, both),
             Form::kLeading);
  }
}

// BatchNormalization in training mode: mean and variance of one sample, over all its axes but the second.
void normalize_in_training(NodeBatch& n) {
  ir::Node& node = n.node();
  const int rank = n.rank(0);
  if (n.opset() < 14 || rank < 2) NodeBatch::refuse("it is in training mode, as before opset 14");
  const ir::DataType type = n.fact(0).dtype;
  std::vector<int64_t> axes{1}, beside{1};  // [batch, n, c, …]: what is reduced; what a list of channels lacks
  for (int64_t axis = 3; axis <= rank; ++axis) axes.push_back(axis), beside.push_back(axis);
  const auto channels = [&](int i) { return n.unsqueeze(n.leading(i), beside); };
  ir::Value* x = n.leading(0);
  ir::Value* mean = n.reduce("ReduceMean", x, axes, true);
  ir::Value* centred = n.emit("Sub", {x, mean});
  ir::Value* variance = n.reduce("ReduceMean", n.emit("Mul", {centred, centred}), axes, true);
  ir::Value* epsilon = n.scalar(node.attribute_float("epsilon", 1e-5F), type);
  ir::Value* deviation = n.emit("Sqrt", {n.emit("Add", {variance, epsilon})});
  ir::Value* y = n.emit("Mul", {n.emit("Div", {centred, deviation}), channels(1)});
  n.become(0, n.emit("Add", {y, channels(2)}), Form::kLeading);
  const double kept = node.attribute_float("momentum", 0.9F);
  const auto running = [&](int i, ir::Value* now) {
    ir::Value* before = n.emit("Mul", {n.leading(i), n.scalar(kept, n.fact(i).dtype)});
    ir::Value* added = n.emit("Mul", {n.squeeze(now, beside), n.scalar(1 - kept, type)});
    n.become(i - 2, n.emit("Add", {before, n.fact(i).dtype == type ? added : n.cast(added, n.fact(i).dtype)}),
             Form::kLeading);
  };
  if (node.output(1)) running(3, mean);
  if (node.output(2)) running(4, variance);
}

// Rotary tables that are a sample's own: those of all samples stand one after the other, and positions count on.
void rotate_by_own_tables(NodeBatch& n, int positions, int first_table) {
  ir::Node& node = n.node();
  if (!n.original(positions) || n.rank(positions) != 2)
    NodeBatch::refuse("its tables differ from sample to sample, without a position for each token");
  const bool merges = n.can_merge(0) && n.can_merge(positions);
  ir::Value* length = n.slice(n.shape(n.leading(first_table)), 1, 2);
  ir::Value* places = n.emit("Add", {n.leading(positions), n.emit("Mul", {n.sample_numbers(2), length})});
  ir::Value* both = merges ? nullptr : n.slice(n.shape(n.leading(0)), 0, 2);
  n.set_operand(0, merges ? n.merged(0) : n.joined(n.leading(0)));
  n.set_operand(positions, merges ? n.squeeze(places, {1}) : n.joined(places));
  for (int i : {first_table, first_table + 1}) n.set_operand(i, n.joined(n.leading(i)));
  n.note_change();
  if (merges) return n.keep(Form::kMerged);
  n.become(0, n.after().parted(node.output(0), both), Form::kLeading);
}

// The most axes that the operator takes.
int most_axes(const ir::Node& node) {
  if (node.op_type() == "TfIdfVectorizer") return 2;
  return node.op_type().starts_with("Skip") || node.op_type().starts_with("MatMulNBitsMlp") ? 3 : INT32_MAX;
}

}  // namespace

void batch_first(NodeBatch& n, const ops::Batching& batching) {
  const bool trains = n.node().attribute_int("training_mode", 0) != 0 || is_read(n.node(), 1);
  if (n.node().op_type() == "BatchNormalization" && trains) return normalize_in_training(n);
  if (n.node().op_type() == "RotaryEmbedding") {
    const bool is_onnx = n.node().domain().empty();
    const int positions = is_onnx ? 3 : 1, table = is_onnx ? 1 : 2;
    const bool has_positions = n.original(positions) != nullptr;
    if (has_positions && (n.is_batched(table) || n.is_batched(table + 1)))
      return rotate_by_own_tables(n, positions, table);
  }
  check_operands(n, batching);
  if (can_merge(n, batching)) {
    run_merged(n, batching);
  } else {
    run_joined(n, batching);
  }
}

void batch_last_axes(NodeBatch& n, const ops::Batching& batching) {
  const int rank = n.rank(0);
  bool merges = n.is_merged(0) && rank > batching.axis;
  for (int i = 1; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    if (n.is_batched(i) && batching.operand(i) == 's')
      NodeBatch::refuse(fmt::format("its operand {} differs from sample to sample", i));
    if (batching.operand(i) == 'b' && n.rank(i) > rank) NodeBatch::refuse("its operands have different ranks");
    if (batching.operand(i) == 'b') merges &= n.rank(i) < rank ? !n.is_batched(i) : n.can_merge(i);
  }
  const auto has_samples = [&](int i) {
    return n.original(i) && batching.operand(i) == 'b' && (n.is_batched(i) || (i == 0 || n.rank(i) == rank));
  };
  if (merges || rank < most_axes(n.node())) {
    for (int i = 0; i < n.num_inputs(); ++i)
      if (has_samples(i)) n.set_operand(i, merges ? n.merged(i) : n.aligned(i, rank));
    return n.keep(merges ? Form::kMerged : Form::kLeading);
  }
  ir::Value* both = n.slice(n.shape(n.leading(n.is_batched(0) || !n.original(1) ? 0 : 1)), 0, 2);
  for (int i = 0; i < n.num_inputs(); ++i)
    if (has_samples(i)) n.set_operand(i, joined_to(n, i, rank, both));
  Emitter after = n.after();
  for (int i = 0; i < static_cast<int>(n.node().outputs().size()); ++i)
    if (is_read(n.node(), i)) n.become(i, after.parted(n.node().output(i), both), Form::kLeading);
}

}  // namespace thaw::batch
