// What a shape rule sees of its node, and how it says what it found out.
//
// A rule reads facts of the inputs, sets facts of the outputs, and states obligations: what must hold of the sizes for
// the node to run. It never guesses: what it does not set stays unknown. Implemented by the engine (infer/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// Where a Dim was read, for obligations.
struct At {
  int input = -1, axis = -1;
};

class Context : public NodeView {
 public:
  virtual void set_output(int i, Fact fact) = 0;
  void set_tensor(int i, ir::DataType dtype, std::optional<Shape> shape) {
    set_output(i, Fact::tensor(dtype, std::move(shape)));
  }
  // Elements for an output set before; ignored unless its shape is constant and they fit it.
  virtual void set_elements(int i, Elements elements) = 0;

  // Obligations. `what` must have static storage. Those that hold identically are dropped; contradictions are kept too.
  // require_equal and require_broadcast return the size that holds if the obligation does: the better known of the two
  // for equal, the broadcast of the two for broadcast.
  virtual dim::Dim require_equal(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual dim::Dim require_broadcast(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual void require_divisible(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual void require_at_most(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  // a <= b, which the specification asks for though ONNX Runtime runs without: no reason to call the node invalid.
  virtual void specify_at_most(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  // Says that d is at least this wherever what this node stated holds: its output's size is no less.
  virtual void imply_at_least(dim::Dim d, int64_t bound) = 0;
  // Whether it is: by its own range, by what nodes before this one imply, or as the size of an axis of an output of theirs. A
  // run that has come here has passed them, so that nothing needs to be stated anew.
  virtual bool holds_at_least(dim::Dim d, int64_t bound) const = 0;
  // What must hold of the numbers that an operand holds (needs.h): asked for by `check --sizes` alone, as most of it says nothing of
  // where a size was frozen.
  virtual bool wants_values() const { return false; }
  // Between what the elements of an operand of integers lie; nullopt where that is not known.
  virtual std::optional<ValueRange> range(int) { return std::nullopt; }
  // Of an output that was set before.
  virtual void set_range(int, const ValueRange&) {}
  // a <= b, which operand `input` must hold numbers for; where `is_enough`, the node may run without. An unknown side is open.
  virtual void require_of_values(dim::Dim, dim::Dim, std::string_view, int, bool) {}
  void leave_open(std::string_view what, int input) { require_of_values({}, {}, what, input, true); }

  // Whether sizes are wanted as ONNX Runtime makes them where what is specified of them does not hold either.
  virtual bool wants_sizes_as_run() const { return false; }
  // The node cannot run at all: wrong rank, axis out of range. One sentence without the node's name.
  virtual void invalid(std::string message) = 0;

  // A size known only at run time, named after this node's output and axis (NonZero's count).
  virtual dim::Dim data_dependent(int output, int axis) = 0;

  // Runs the rules over a subgraph (an attribute of this node) with these facts for its inputs; facts of its outputs.
  virtual std::vector<Fact> infer_subgraph(const ir::Graph& graph, std::span<const Fact> inputs) = 0;
  // The same of a branch that runs once whenever the node does: the others never run.
  virtual std::vector<Fact> infer_only_branch(const ir::Graph& graph) = 0;
  // The same for a subgraph without inputs that runs where `condition` is 1 and not where it is 0: what its nodes state
  // is stated under that condition; as it is where the condition is unknown.
  virtual std::vector<Fact> infer_branch(const ir::Graph& graph, dim::Dim condition) = 0;
};

}  // namespace thaw::ops
