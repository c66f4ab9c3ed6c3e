// What an operator becomes when its operands gain a batch axis: the batch rule, and what such a rule sees and may do.
//
// Result i of the batched node equals the node's result on sample i (vmap: Frostig et al., 2018; JAX's batching rules).
// A tensor of a batched model holds the samples in one of two forms:
//   merged    its first axis, which is 1 in a sample, is the batch: [1, 3, h, w] -> [batch, 3, h, w]
//   leading   a new first axis is the batch:                        [n, 4]       -> [batch, n, 4]
// The walk over the graph is in batch/, which implements BatchState.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ops/rule/emit.h"
#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

enum class Form : uint8_t { kMerged, kLeading };

struct Batched {
  ir::Value* value = nullptr;
  Form form = Form::kLeading;
};

// Thrown by a rule that cannot; the message completes "it cannot be batched, because …".
struct CannotBatch : CannotWrite {
  using CannotWrite::CannotWrite;
};

// What is known while a model is batched, by values of the model as it was.
class BatchState {
 public:
  virtual ~BatchState() = default;
  virtual NodeWriter& writer() = 0;
  virtual const Fact& fact(const ir::Value* value) const = 0;        // of one sample
  virtual const Batched* batched(const ir::Value* value) const = 0;  // null: the same for all samples, so far
  virtual void set_batched(const ir::Value* value, Batched batched) = 0;
  // Whether the value may differ from sample to sample, as was found before anything was batched.
  virtual bool differs(const ir::Value* value) const = 0;
  virtual ir::Value* batch_size() = 0;  // int64 [1]: the number of samples
  // A new value that is the same for all samples, and the value of a sample's model that it is.
  virtual void set_stand_in(const ir::Value* made, const ir::Value* original) = 0;
  // The other form of a value of the main graph, once it is made; null until then.
  virtual ir::Value*& converted(const ir::Value* value, Form to) = 0;
  // Batches a subgraph, node by node.
  virtual void walk(ir::Graph& graph) = 0;
  // Moves the nodes of a subgraph of `node` before it; false where they cannot.
  virtual bool can_splice(const ir::Graph& inner) const = 0;
  virtual void splice(ir::Graph& inner, ir::Node& node, std::string_view prefix) = 0;
};

// Writing nodes of a batched model.
class BatchEmit : public Emit {
 public:
  BatchEmit(BatchState& state, ir::Graph& graph, ir::Node* before)
      : Emit(state.writer(), graph, before), state_(&state) {}

  BatchState& state() const { return *state_; }
  ir::Value* batch_size() const { return state_->batch_size(); }
  // 0, 1, … for the samples, with so many axes of 1 after it: [batch, 1, …].
  ir::Value* sample_numbers(int axes) const;
  // A tensor that is the same for all samples, repeated for each: leading.
  ir::Value* repeated(ir::Value* x, int rank) const;
  // [1, …] of that rank for each sample: [batch, …].
  ir::Value* expanded(ir::Value* x, int rank) const;
  // A value of the original model for every sample, in the leading form: repeated where it is the same for all. Throws
  // CannotBatch where its rank is not known, or where it is a sequence that is the same for all and not empty.
  ir::Value* as_leading(ir::Value* original) const;
  // A sample's own first axis joins the batch, [batch, b, …] -> [batch * b, …], and parts from it again; both: [batch,
  // b].
  ir::Value* flattened(ir::Value* x) const;
  ir::Value* unflattened(ir::Value* y, ir::Value* both) const;

 private:
  BatchState* state_;
};

class BatchContext : public NodeView, public BatchEmit {
 public:
  BatchContext(BatchState& state, ir::Node& node, int64_t opset);

  // Of one sample.
  const Fact& input(int i) const override;
  const Fact& output(int i) const override;
  const Elements* elements(int i) override;
  const ir::Tensor* constant(int i) const override;
  const ir::Attribute* attribute(std::string_view name) const override { return node_->attribute(name); }
  int rank(int i) const;  // throws CannotBatch where it is not known
  // Elements of an operand that is the same for all samples, where they are known.
  std::optional<std::vector<int64_t>> constant_ints(int i);
  // Whether a sample's first axis is known to be 1.
  static bool starts_with_one(const Fact& fact);

  ir::Node& node() { return changing_; }
  ir::Value* original(int i) const { return changing_.input(i); }
  bool is_batched(int i) const { return find(i) != nullptr; }
  bool is_merged(int i) const { return find(i) && find(i)->form == Form::kMerged; }
  // The form that operand i is in; leading for one that is the same for all samples.
  Form form_of(int i) const { return is_merged(i) ? Form::kMerged : Form::kLeading; }
  bool can_merge(int i) const { return starts_with_one(input(i)); }

  ir::Value* merged(int i);   // operand i in that form; throws CannotBatch where its first axis is not 1
  ir::Value* leading(int i);  // one that is the same for all samples is repeated
  // Operand i, leading, with the sample's axes aligned to the right of `rank` of them: [batch, 1, …].
  ir::Value* aligned(int i, int rank);

  // An axis of a sample, from the front; the same in a tensor with the batch before it. One that no tensor has stays so.
  static int64_t positive(int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }
  static int64_t shifted(int64_t axis) { return axis < 0 || axis == INT64_MAX ? axis : axis + 1; }
  static std::vector<int64_t> shifted(std::vector<int64_t> axes);
  // All axes of a sample of that rank, in a tensor with the batch before it.
  static std::vector<int64_t> axes_of_sample(int rank);
  // Operand i, which holds axes of a sample, counted with a batch axis before them.
  ir::Value* shifted_axes(int i);

  // The node stays as it is, on these operands, and its outputs are batched.
  void keep(Form form);
  // The same, with its first operand in that form.
  void keep_on(Form form);
  void set_operand(int i, ir::Value* value) { changing_.set_input(i, value); }
  void set_attribute(ir::Attribute attribute) { changing_.set_attribute(std::move(attribute)); }
  // Output i is this value instead.
  void become(int i, ir::Value* value, Form form);
  // Output i is the same for every sample, and this value.
  void become_plain(int i, ir::Value* value);
  // What output i has become so far.
  Batched result(int i) const { return *state().batched(changing_.output(i)); }
  // A position to write nodes that follow this one.
  BatchEmit after() { return {state(), graph(), graph().next(&changing_)}; }

  // Throw CannotBatch.
  [[noreturn]] static void refuse(std::string why) { throw CannotBatch{std::move(why)}; }
  void require_same_for_all(int i, std::string_view what);  // "its {what} differs from sample to sample, …"
  void require_alone();                                     // every operand but the first is the same for all samples

  // What If, Loop, Scan and SequenceMap do with their graphs: samples go in and come out leading.
  ir::Graph& graph_attribute(std::string_view name);  // throws CannotBatch where there is none
  bool returns_samples(const ir::Graph& body, int i) const;
  void return_leading(ir::Graph& body, int i);
  void give_samples(int operand, ir::Value* formal);
  // The same for a value that goes around in a body, where it differs on the way.
  void give_state(int operand, ir::Value* formal);
  void return_state(ir::Graph& body, const ir::Value* formal, int i);

  bool kept_as_it_was() const { return kept_; }
  void note_change() { kept_ = false; }

 private:
  const Batched* find(int i) const;
  // A conversion inside a branch is not seen outside of it.
  bool is_inside_branch() const { return graph().parent() != nullptr; }
  ir::Node& changing_;
  std::vector<ElementsPtr> read_;
  bool kept_ = true;
};

// How an entry says it.
constexpr Batch batch_with(BatchRule rule) { return {.rule = rule}; }
constexpr Batch no_batch(std::string_view why) { return {.why_not = why}; }

// Reasons that many have.
inline constexpr std::string_view kSizedByData =
    "the size of its output depends on its data, which differs from sample to sample";
inline constexpr std::string_view kDraws = "it draws random numbers, which a batch would draw in another order";

// Rules that follow from an operator's axes (ops/rule/axes.h).
//
// Operands that broadcast: they line up at the right, the batch before them.
void batch_elementwise(BatchContext&);
// The axis that operands share with the first axis of output 0 takes the samples; where that is a sample's own batch,
// both are joined. Operands that begin with any number of axes get one more.
void batch_by_axes(BatchContext&);
// Attributes and operands that name axes of the first operand count the batch with them.
void batch_shifting_axes(BatchContext&);

}  // namespace thaw::ops
