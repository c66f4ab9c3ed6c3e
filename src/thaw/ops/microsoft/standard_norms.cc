// Norms, embeddings and rotary positions of com.microsoft in ONNX's operators.
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/attention_older.h"
#include "thaw/ops/onnx/normalization.h"
#include "thaw/ops/rule/batch.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using ir::Value;

constexpr int64_t kFirstWithLayerNorm = 17, kFirstWithRmsNorm = 23;
constexpr float kSkipNormsEpsilon = 1e-12F;

float epsilon_of(const AdapterContext& n, float otherwise) {
  return static_cast<float>(n.attr_float("epsilon", otherwise));
}

// Over the last axis; `shift` may be null.
Value* layer_norm(const Emit& at, Value* x, DataType type, Value* scale, Value* shift, float epsilon) {
  if (at.writer().opset() >= kFirstWithLayerNorm) {
    std::vector<Value*> inputs = {x, scale};
    if (shift) inputs.push_back(shift);
    return at.emit("LayerNormalization", std::move(inputs), {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  }
  const bool is_wide = type == DataType::kFloat || type == DataType::kDouble;
  const DataType precision = is_wide ? type : DataType::kFloat;
  Value* wide = is_wide ? x : at.cast(x, precision);
  Value* centered = at.sub(wide, at.reduce("ReduceMean", wide, {-1}, true));
  Value* variance = at.reduce("ReduceMean", at.mul(centered, centered), {-1}, true);
  Value* normed = at.div(centered, at.emit("Sqrt", {at.add(variance, at.scalar(epsilon, precision))}));
  Value* scaled = at.mul(is_wide ? normed : at.cast(normed, type), scale);
  return shift ? at.add(scaled, shift) : scaled;
}

Value* rms_norm(const Emit& at, Value* x, DataType type, Value* scale, float epsilon) {
  if (at.writer().opset() >= kFirstWithRmsNorm)
    return at.emit("RMSNormalization", {x, scale}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  const DataType precision = type == DataType::kDouble ? type : DataType::kFloat;
  return at.mul(rms_norm_as_arithmetic(at, x, type, {-1}, epsilon, precision), scale);
}

// x, what skips and a bias; also an output of its own.
Value* sum_of_skip(AdapterContext& n, int bias) {
  if (n.wants_output(1) || n.wants_output(2)) throw NoEqual{"its statistics are outputs"};
  Value* sum = n.at().add(n.changing().input(0), n.changing().input(1));
  if (n.has_input(bias)) sum = n.at().add(sum, n.changing().input(bias));
  if (n.wants_output(3)) n.become(3, sum);
  return sum;
}

}  // namespace

void standard_skip_layer_norm(AdapterContext& n) {
  const DataType type = floating_type(n, 0);
  Value* sum = sum_of_skip(n, 4);
  n.become(
      0, layer_norm(n.at(), sum, type, n.changing().input(2), n.changing().input(3), epsilon_of(n, kSkipNormsEpsilon)));
}

void standard_skip_rms_norm(AdapterContext& n) {
  const DataType type = floating_type(n, 0);
  Value* sum = sum_of_skip(n, 3);
  n.become(0, rms_norm(n.at(), sum, type, n.changing().input(2), epsilon_of(n, kSkipNormsEpsilon)));
}

void standard_simplified_layer_norm(AdapterContext& n) {
  const DataType type = floating_type(n, 0);
  if (n.wants_output(1)) throw NoEqual{"its statistics are outputs"};
  if (n.input(1).dtype != type) throw NoEqual{"its scale has another type"};
  const Fact& x = n.input(0);
  if (x.rank() < 1 || BatchContext::positive(n.attr_int("axis", -1), x.rank()) != x.rank() - 1)
    throw NoEqual{"it is over more than the last axis"};
  n.become(0, rms_norm(n.at(), n.changing().input(0), type, n.changing().input(1), epsilon_of(n, 1e-5F)));
}

// Rows of the tables for words, positions and segments, added and normalized.
void standard_embed_layer_norm(AdapterContext& n) {
  const Emit& at = n.at();
  const DataType type = floating_type(n, 2);
  ir::Node& node = n.changing();
  const auto rows = [&](int table, Value* of) {
    return at.emit("Gather", {node.input(table), of}, {{"axis", int64_t{0}}});
  };
  Value* ids = node.input(0);
  Value* length = at.slice(at.shape(ids), 1, 2);
  Value* positions =
      n.has_input(8) ? rows(3, node.input(8)) : at.emit("Slice", {node.input(3), at.list({0}), length, at.list({0})});
  Value* sum = at.add(rows(2, ids), positions);
  if (n.has_input(4) != n.has_input(1)) throw NoEqual{"its segments and their table are not both there"};
  if (n.has_input(4)) sum = at.add(sum, rows(4, node.input(1)));
  if (n.wants_output(1)) {  // how many tokens of each sample count
    Value* counts = n.has_input(7) ? at.emit("Equal", {node.input(7), at.cast(at.integer(1), n.input(7).dtype)})
                                   : at.emit("Less", {ids, ids});
    n.become(1, at.reduce("ReduceSum", at.cast(counts, DataType::kInt32), {1}, false));
  }
  if (n.wants_output(2)) n.become(2, sum);
  n.become(0, layer_norm(at, sum, type, node.input(5), node.input(6), epsilon_of(n, kSkipNormsEpsilon)));
}

// Positions are given for each token, or that of the first.
void standard_rotary_embedding(AdapterContext& n) {
  const Emit& at = n.at();
  const Fact &x = n.input(0), &positions = n.input(1), &cache = n.input(2);
  const auto half = cache.rank() == 2 ? cache.dim(1).constant() : std::nullopt;
  if ((x.rank() != 3 && x.rank() != 4) || !positions.has_rank() || !half)
    throw NoEqual{"the sizes of its operands are not known"};
  if (n.attr_int("is_packed_batching", 0) != 0) throw NoEqual{"it has samples of different lengths"};
  if (n.attr_float("scale", 1) != 1) throw NoEqual{"it scales"};
  const auto hidden = x.dim(x.rank() - 1).constant();
  if (!hidden) throw NoEqual{"its heads' width is not known"};
  const int64_t rotated = 2 * *half, given = n.attr_int("num_heads", 0);
  int64_t heads = 0, width = *hidden;
  if (x.rank() == 4) {
    const auto known = x.dim(1).constant();
    if (!known) throw NoEqual{"its number of heads is not known"};
    heads = *known;
  } else {
    heads = given > 0 ? given : *hidden / rotated;
    if (heads <= 0 || *hidden % heads != 0) throw NoEqual{"its heads do not divide its channels"};
    width = *hidden / heads;
  }
  if (rotated > width) throw NoEqual{"it turns more than a head"};
  Value* ids = n.changing().input(1);
  Value* length = at.slice(at.shape(n.changing().input(0)), x.rank() - 2, x.rank() - 1);
  Value* whole = heads_of(n, heads, width);
  if (positions.rank() < 2) {
    Value* counted = at.emit("Range", {at.integer(0), at.squeeze(length, {0}), at.integer(1)});
    ids = at.unsqueeze(at.add(counted, at.reshape(ids, at.list({1}))), {0});
  }
  const auto angles = [&](int i) {
    return at.unsqueeze(at.emit("Gather", {n.changing().input(i), ids}, {{"axis", int64_t{0}}}), {2});
  };
  Value* result = rotation_as_arithmetic(at, {.whole = whole,
                                              .cosine = angles(2),
                                              .sine = angles(3),
                                              .heads = heads,
                                              .width = width,
                                              .rotated = rotated,
                                              .interleaved = n.attr_int("interleaved", 0) != 0});
  become_heads(n, result, heads, width);
}

}  // namespace thaw::ops
