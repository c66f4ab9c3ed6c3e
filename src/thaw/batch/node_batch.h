// One node while it is batched: what a batch rule sees and may do. Internal to batch/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/batch/batch.h"
#include "thaw/batch/reach.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/batching.h"

namespace thaw::batch {

enum class Form : uint8_t { kMerged, kLeading };

struct Batched {
  ir::Value* value = nullptr;
  Form form = Form::kLeading;
};

// Thrown by a rule that cannot; the message completes "it cannot be batched, because …".
struct CannotBatch {
  std::string why;
};

using Attributes = std::vector<ir::Attribute>;

// What is known while a model is batched.
struct State {
  State(ir::Model& of, const Options& by, const infer::Result& inferred, Reach reached, int64_t version)
      : model(of), options(by), sample(inferred), reach(std::move(reached)), opset(version) {}

  ir::Model& model;
  const Options& options;
  const infer::Result& sample;  // of the model before batching: shapes of one sample
  Reach reach;                  // of the same: what may differ from sample to sample
  int64_t opset;
  std::unordered_map<const ir::Value*, Batched> batched;                   // by value of the original model
  std::unordered_map<const ir::Value*, ir::Value*> as_leading, as_merged;  // conversions made so far
  std::unordered_map<const ir::Value*, const ir::Value*>
      stands_for;  // new values that no sample reaches, by what they replace
  std::unordered_map<std::string, ir::Value*> constants;
  ir::Value* size = nullptr;  // int64 [1]: the number of samples
  Report report;

  const ops::Fact& fact(const ir::Value* value) const {
    const auto known = stands_for.find(value);
    return sample.fact(known == stands_for.end() ? value : known->second);
  }
};

// Emits nodes into a graph before a given node.
class Emitter {
 public:
  Emitter(State& state, ir::Graph& graph, ir::Node* before) : state_(state), graph_(graph), before_(before) {}

  int64_t opset() const { return state_.opset; }
  ir::Value* emit(std::string_view op, std::vector<ir::Value*> inputs, Attributes attributes = {});
  ir::Value* ints(const std::vector<int64_t>& values);  // constant, int64 [n]
  ir::Value* unsqueeze(ir::Value* x, const std::vector<int64_t>& axes);
  ir::Value* squeeze(ir::Value* x, const std::vector<int64_t>& axes);
  ir::Value* transpose(ir::Value* x, const std::vector<int64_t>& permutation);
  ir::Value* concat(std::vector<ir::Value*> parts, int64_t axis);
  ir::Value* slice(ir::Value* x, int64_t begin, int64_t end = INT64_MAX);  // along axis 0 of a list
  ir::Value* batch_size() const { return state_.size; }
  ir::Value* shape(ir::Value* x) { return emit("Shape", {x}); }
  ir::Value* integer(int64_t value);  // constant, int64 scalar
  ir::Value* cast(ir::Value* x, ir::DataType to) { return emit("Cast", {x}, {{"to", static_cast<int64_t>(to)}}); }
  ir::Value* reduce(std::string_view op, ir::Value* x, const std::vector<int64_t>& axes, bool keepdims);
  // 0, 1, … for the samples, with so many axes of 1 after it: [batch, 1, …].
  ir::Value* sample_numbers(int axes);
  ir::Value* scalar(double value, ir::DataType type);
  // A tensor that no sample reaches, repeated for each: leading.
  ir::Value* repeated(ir::Value* x, int rank);
  // A value of the original model for every sample, in the leading form: repeated where no sample reaches it. Throws
  // CannotBatch where its rank is not known, or where it is a sequence that is the same for all samples and not empty.
  ir::Value* as_leading(ir::Value* original);
  // [1, …] of that rank for each sample: [batch, …].
  ir::Value* expanded(ir::Value* x, int rank);
  // A sample's own first axis joins the batch, [batch, b, …] -> [batch * b, …], and parts from it again; both: [batch,
  // b].
  ir::Value* joined(ir::Value* x);
  ir::Value* parted(ir::Value* y, ir::Value* both);

 protected:
  State& state_;
  ir::Graph& graph_;
  ir::Node* before_;
};

class NodeBatch : public Emitter {
 public:
  NodeBatch(State& state, ir::Node& node) : Emitter(state, *node.graph(), &node), node_(node) {}

  ir::Node& node() { return node_; }
  State& state() { return state_; }
  int num_inputs() const { return static_cast<int>(node_.inputs().size()); }
  ir::Value* original(int i) const { return node_.input(i); }
  bool is_batched(int i) const { return find(i) != nullptr; }
  bool is_merged(int i) const { return find(i) && find(i)->form == Form::kMerged; }
  const ops::Fact& fact(int i) const { return state_.fact(node_.input(i)); }
  const ops::Fact& output_fact(int i) const { return state_.fact(node_.output(i)); }
  int rank(int i) const;  // of a sample; throws CannotBatch where it is not known
  std::optional<std::vector<int64_t>> constant_ints(int i) const;  // nullopt for no operand or no constant
  // Axis of a sample, counted from the front.
  int64_t positive_axis(int64_t axis, int rank) const { return axis < 0 ? axis + rank : axis; }

  // The same in a tensor with the batch before it.
  static int64_t shifted(int64_t axis) { return axis < 0 ? axis : axis + 1; }
  static std::vector<int64_t> shifted(std::vector<int64_t> axes);
  // Operand i, which holds axes of a sample, counted with a batch axis before them.
  ir::Value* shifted_axes(int i);

  ir::Value* merged(int i);   // operand i in that form; throws CannotBatch where its first axis is not 1
  ir::Value* leading(int i);  // a tensor that no sample reaches is repeated
  // The form that operand i is in; leading for one that no sample reaches.
  Form form_of(int i) const { return is_merged(i) ? Form::kMerged : Form::kLeading; }
  // Whether operand i can be had merged.
  bool can_merge(int i) const;
  // Operand i, leading, with the sample's axes aligned to the right of `rank` of them: [batch, 1, …].
  ir::Value* aligned(int i, int rank);
  // Whether a sample's first axis is known to be 1.
  static bool starts_with_one(const ops::Fact& fact);

  // The node stays as it is, on these operands, and its outputs are batched.
  void keep(Form form);
  // The same, with its first operand in that form.
  void keep_on(Form form);
  void set_operand(int i, ir::Value* value) { node_.set_input(i, value); }
  // Output i is this value instead.
  void become(int i, ir::Value* value, Form form);
  // Output i is the same for every sample, and this value.
  void become_plain(int i, ir::Value* value);
  // An emitter of nodes that follow this one.
  Emitter after() { return {state_, graph_, graph_.next(&node_)}; }
  [[noreturn]] static void refuse(std::string why) { throw CannotBatch{std::move(why)}; }

  bool kept_as_it_was() const { return kept_; }
  void note_change() { kept_ = false; }

 private:
  const Batched* find(int i) const;
  // A conversion inside a branch is not seen outside of it.
  bool is_inside_branch() const { return node_.graph()->parent() != nullptr; }
  ir::Node& node_;
  bool kept_ = true;
};

using Rule = void (*)(NodeBatch&, const ops::Batching&);
Rule rule_of(ops::BatchKind kind);  // null for kNone

// One for each kind, in the files that are named after what they have in common.
void batch_elementwise(NodeBatch&, const ops::Batching&);
void batch_matmul(NodeBatch&, const ops::Batching&);
void batch_gemm(NodeBatch&, const ops::Batching&);
void batch_einsum(NodeBatch&, const ops::Batching&);
void batch_first(NodeBatch&, const ops::Batching&);
void batch_last_axes(NodeBatch&, const ops::Batching&);
void batch_pool_indices(NodeBatch&, const ops::Batching&);
void batch_unpool(NodeBatch&, const ops::Batching&);
void batch_regions(NodeBatch&, const ops::Batching&);
void batch_affine_grid(NodeBatch&, const ops::Batching&);
void batch_resize(NodeBatch&, const ops::Batching&);
void batch_reverse_sequence(NodeBatch&, const ops::Batching&);
void batch_dft(NodeBatch&, const ops::Batching&);
void batch_quantize(NodeBatch&, const ops::Batching&);
void batch_dynamic_quantize(NodeBatch&, const ops::Batching&);
void batch_conv_integer(NodeBatch&, const ops::Batching&);
void batch_loss(NodeBatch&, const ops::Batching&);
void batch_dropout(NodeBatch&, const ops::Batching&);
void batch_center_crop_pad(NodeBatch&, const ops::Batching&);
void batch_recurrent(NodeBatch&, const ops::Batching&);
void batch_axis(NodeBatch&, const ops::Batching&);
void batch_cumulative(NodeBatch&, const ops::Batching&);
void batch_reduce(NodeBatch&, const ops::Batching&);
void batch_one_hot(NodeBatch&, const ops::Batching&);
void batch_compress(NodeBatch&, const ops::Batching&);
void batch_concat(NodeBatch&, const ops::Batching&);
void batch_qlinear_concat(NodeBatch&, const ops::Batching&);
void batch_gather_quantized(NodeBatch&, const ops::Batching&);
void batch_split(NodeBatch&, const ops::Batching&);
void batch_reshape(NodeBatch&, const ops::Batching&);
void batch_flatten(NodeBatch&, const ops::Batching&);
void batch_squeeze(NodeBatch&, const ops::Batching&);
void batch_unsqueeze(NodeBatch&, const ops::Batching&);
void batch_transpose(NodeBatch&, const ops::Batching&);
void batch_expand(NodeBatch&, const ops::Batching&);
void batch_tile(NodeBatch&, const ops::Batching&);
void batch_slice(NodeBatch&, const ops::Batching&);
void batch_pad(NodeBatch&, const ops::Batching&);
void batch_shape(NodeBatch&, const ops::Batching&);
void batch_size_of(NodeBatch&, const ops::Batching&);
void batch_like(NodeBatch&, const ops::Batching&);
void batch_gather(NodeBatch&, const ops::Batching&);
void batch_gather_elements(NodeBatch&, const ops::Batching&);
void batch_gather_nd(NodeBatch&, const ops::Batching&);
void batch_scatter_elements(NodeBatch&, const ops::Batching&);
void batch_scatter_nd(NodeBatch&, const ops::Batching&);
void batch_if(NodeBatch&, const ops::Batching&);
void batch_loop(NodeBatch&, const ops::Batching&);
void batch_scan(NodeBatch&, const ops::Batching&);
void batch_sequence_map(NodeBatch&, const ops::Batching&);
void batch_sequence(NodeBatch&, const ops::Batching&);
void batch_length(NodeBatch&, const ops::Batching&);

}  // namespace thaw::batch
