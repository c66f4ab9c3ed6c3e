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

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

enum class ObligationKind : uint8_t {
  kEqual,      // a == b
  kBroadcast,  // a == b, or a == 1, or b == 1
  kDivisible,  // a % b == 0, b != 0
  kAtMost,     // a <= b
};

// What must hold for a node to run.
struct Obligation {
  const ir::Node* node = nullptr;
  ObligationKind kind = ObligationKind::kEqual;
  dim::Dim a, b;
  std::string_view what;          // of static storage: "MatMul's inner dims", "elements of a Reshape"
  int input_a = -1, axis_a = -1;  // which input and axis `a` (`b`) was read from, where it was; else -1
  int input_b = -1, axis_b = -1;
};

// Where a Dim was read, for obligations.
struct At {
  int input = -1, axis = -1;
};

class Context {
 public:
  virtual ~Context() = default;

  const ir::Node& node() const { return *node_; }
  int64_t opset() const { return opset_; }  // imported version of the node's domain
  dim::Scope& scope() { return *scope_; }

  int num_inputs() const { return static_cast<int>(node_->inputs().size()); }
  int num_outputs() const { return static_cast<int>(node_->outputs().size()); }
  bool has_input(int i) const { return node_->input(i) != nullptr; }
  bool wants_output(int i) const { return node_->output(i) != nullptr; }

  // Facts; an omitted or missing input has the unknown fact.
  virtual const Fact& input(int i) const = 0;
  // Elements of a small tensor, in row-major order; null when they are not followed. Reads a small constant's bytes.
  virtual const Elements* elements(int i) = 0;
  // The constant behind an input, whatever its size; null when it is computed. Reading its bytes is the rule's choice.
  virtual const ir::Tensor* constant(int i) const = 0;
  // The whole input as plain integers, when all are known: axes, pads, repeats, a static shape.
  std::optional<std::vector<int64_t>> ints(int i);
  // The whole input as Dims (an element that is not known gives an unknown Dim); nullopt when its length is not known.
  std::optional<std::vector<dim::Dim>> dims_from(int i);
  // A scalar or one-element input as a plain number.
  std::optional<double> number(int i);

  virtual void set_output(int i, Fact fact) = 0;
  void set_tensor(int i, ir::DataType dtype, std::optional<Shape> shape) {
    set_output(i, Fact::tensor(dtype, std::move(shape)));
  }
  // Elements for an output set before; ignored unless its shape is constant and they fit it.
  virtual void set_elements(int i, Elements elements) = 0;

  // Attributes, with references to a function's attributes resolved.
  virtual const ir::Attribute* attribute(std::string_view name) const = 0;
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t otherwise) const;
  std::optional<int64_t> attr_int(std::string_view name) const;
  double attr_float(std::string_view name, double otherwise) const;
  std::string_view attr_string(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<int64_t>> attr_ints(std::string_view name) const;
  const ir::Tensor* attr_tensor(std::string_view name) const;
  const ir::Graph* attr_graph(std::string_view name) const;

  // Obligations. `what` must have static storage. Those that hold identically are dropped; contradictions are kept too.
  // require_equal and require_broadcast return the size that holds if the obligation does: the better known of the two
  // for equal, the broadcast of the two for broadcast.
  virtual dim::Dim require_equal(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual dim::Dim require_broadcast(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual void require_divisible(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  virtual void require_at_most(dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {}) = 0;
  // The node cannot run at all: wrong rank, axis out of range. One sentence without the node's name.
  virtual void invalid(std::string message) = 0;

  // A size that only running tells, named after this node's output and axis (NonZero's count).
  virtual dim::Dim data_dependent(int output, int axis) = 0;

  // Runs the rules over a subgraph (an attribute of this node) with these facts for its inputs; facts of its outputs.
  virtual std::vector<Fact> infer_subgraph(const ir::Graph& graph, std::span<const Fact> inputs) = 0;

 protected:
  const ir::Node* node_ = nullptr;
  int64_t opset_ = 0;
  dim::Scope* scope_ = nullptr;
};

}  // namespace thaw::ops
