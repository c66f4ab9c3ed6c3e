// Batch rule of Loop.
//
// Where all samples leave at one iteration, the loop runs over all of them. Where each may leave at its own, it runs
// until the last one does, and a sample that has left keeps what it carries: Where(still running, new, old).
#include <algorithm>

#include "thaw/dim/expr/scope.h"
#include "thaw/ops/onnx/control.h"

namespace thaw::ops {
namespace {

// What a Loop collects: iterations are stacked before the samples of each.
ir::Value* samples_first(BatchContext& n, int i) {
  const Fact& fact = n.output(i);
  if (!fact.has_rank()) BatchContext::refuse("the rank of what it collects is not known");
  std::vector<int64_t> permutation{1, 0};
  for (int axis = 2; axis <= fact.rank(); ++axis) permutation.push_back(axis);
  const BatchEmit after = n.after();
  ir::Value* stacked = after.transpose(n.node().output(i), permutation);
  const auto lower = dim::range_of(fact.dim(0)).lower;
  if (lower && *lower >= 1) return stacked;
  // Without an iteration there is no sample to tell their number.
  return after.emit("Reshape", {stacked, after.concat({after.batch_size(), after.slice(after.shape(stacked), 1)}, 0)});
}

bool keeps_its_size(const Fact& before, const Fact& after) {
  bool same = before.is_tensor() && after.is_tensor() && before.has_rank() && before.rank() == after.rank();
  for (int axis = 0; same && axis < before.rank(); ++axis) same = dim::same(before.dim(axis), after.dim(axis));
  return same;
}

// One truth value for each sample: [batch].
ir::Value* truths(BatchContext& n, int i) { return n.emit("Reshape", {n.leading(i), n.list({-1})}); }

// Whether any of them holds.
ir::Value* any(const BatchEmit& at, ir::Value* truth) {
  constexpr ir::DataType kInt = ir::DataType::kInt32;
  return at.cast(at.reduce("ReduceMax", at.cast(truth, kInt), {0}, false), ir::DataType::kBool);
}

class LoopThatSamplesLeave {
 public:
  LoopThatSamplesLeave(BatchContext& n, ir::Graph& body, int carried) : n_(n), body_(body), carried_(carried) {}

  void batch() {
    check();
    begin();
    n_.state().walk(body_);
    end_of_body();
    replace();
  }

 private:
  ir::Value* formal(int k) const { return body_.inputs()[static_cast<size_t>(k) + 2]; }

  void check() const {
    if (body_.outputs().size() > static_cast<size_t>(carried_) + 1)
      BatchContext::refuse("it runs as often as each sample needs, so that what it collects differs in size");
    for (int k = 0; k < carried_; ++k)
      if (!keeps_its_size(n_.state().fact(formal(k)), n_.state().fact(body_.outputs()[static_cast<size_t>(k) + 1])))
        BatchContext::refuse("it runs as often as each sample needs, and what it carries changes in size");
  }

  // Before the loop: who runs at all, and how often the longest one does.
  void begin() {
    running_ = n_.original(1) ? truths(n_, 1)
                              : n_.emit("Expand", {n_.cast(n_.integer(1), ir::DataType::kBool), n_.batch_size()});
    limit_ = n_.original(0);
    if (n_.is_batched(0)) {
      limits_ = n_.emit("Reshape", {n_.leading(0), n_.list({-1})});
      limit_ = n_.reduce("ReduceMax", limits_, {0}, false);
      running_ = n_.emit("And", {running_, n_.emit("Greater", {limits_, n_.integer(0)})});
    }
    for (int k = 0; k < carried_; ++k) n_.give_samples(2 + k, formal(k));
    goes_on_ = n_.graph().unique_name("batch_running");
    in_body_ = body_.add_input(goes_on_, ir::Type::tensor(ir::DataType::kBool));
  }

  void end_of_body() {
    const BatchEmit end(n_.state(), body_, nullptr);
    ir::Value* on = body_.outputs()[0];
    if (n_.returns_samples(body_, 0)) on = end.emit("Reshape", {end.as_leading(on), end.list({-1})});
    ir::Value* still = end.emit("And", {in_body_, on});
    if (limits_) {
      ir::Value* next = end.emit("Add", {body_.inputs()[0], end.integer(1)});
      still = end.emit("And", {still, end.emit("Less", {next, limits_})});
    }
    for (int k = 0; k < carried_; ++k) {
      const int rank = n_.state().fact(formal(k)).rank();
      ir::Value* next = end.as_leading(body_.outputs()[static_cast<size_t>(k) + 1]);
      std::vector<int64_t> axes;
      for (int axis = 1; axis <= rank; ++axis) axes.push_back(axis);
      ir::Value* kept = end.emit("Where", {end.unsqueeze(in_body_, axes), next, formal(k)});
      kept->set_type(ir::Type::tensor(n_.state().fact(formal(k)).dtype));
      body_.set_output(1 + k, kept);
    }
    ir::Value* all = any(end, still);
    all->set_type(ir::Type::tensor(ir::DataType::kBool, std::vector<ir::DeclaredDim>{}));
    body_.set_output(0, all);
    still->set_type(ir::Type::tensor(ir::DataType::kBool));
    body_.add_output(still);
  }

  // A Loop that carries one value more.
  void replace() {
    ir::Node& node = n_.node();
    ir::Graph& graph = *node.graph();
    std::vector<ir::Value*> inputs{limit_, any(n_, running_)}, outputs;
    for (int k = 0; k < carried_; ++k) inputs.push_back(node.input(2 + k));
    inputs.push_back(running_);
    for (int k = 0; k <= carried_; ++k) outputs.push_back(graph.add_value(graph.unique_name(goes_on_ + "_last")));
    ir::Node* loop = graph.add_node("Loop", "", inputs, outputs, node.name, &node);
    loop->set_attribute(*node.attribute("body"));
    for (int k = 0; k < carried_; ++k)
      if (node.output(k)) n_.become(k, outputs[static_cast<size_t>(k)], Form::kLeading);
  }

  BatchContext& n_;
  ir::Graph& body_;
  int carried_;
  std::string goes_on_;
  ir::Value *running_ = nullptr, *limit_ = nullptr, *limits_ = nullptr, *in_body_ = nullptr;
};

}  // namespace

void batch_loop(BatchContext& n) {
  ir::Node& node = n.node();
  ir::Graph& body = n.graph_attribute("body");
  const int carried = std::max(n.num_inputs() - 2, 0);
  const auto formal = [&](int k) { return body.inputs()[static_cast<size_t>(k) + 2]; };
  if (static_cast<int>(body.inputs().size()) < 2 + carried || static_cast<int>(body.outputs().size()) < 1 + carried)
    BatchContext::refuse("its body takes or returns too few values");
  if (n.is_batched(0) || n.is_batched(1) || n.state().differs(body.outputs()[0]))
    return LoopThatSamplesLeave(n, body, carried).batch();
  for (int k = 0; k < carried; ++k) n.give_state(2 + k, formal(k));
  n.state().walk(body);
  if (n.returns_samples(body, 0)) BatchContext::refuse("how often it runs differs from sample to sample");
  for (int k = 0; k < carried; ++k) n.return_state(body, formal(k), 1 + k);
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    ir::Value* output = node.output(i);
    if (i < carried && output && n.state().batched(formal(i))) {
      n.state().set_batched(output, {output, Form::kLeading});
    } else if (i >= carried && n.returns_samples(body, 1 + i)) {
      n.return_leading(body, 1 + i);
      if (output) n.become(i, samples_first(n, i), Form::kLeading);
    }
  }
  n.note_change();
}

}  // namespace thaw::ops
