// Emitting a symbolic size as ONNX nodes that compute it from the model's inputs when the model runs.
//
// Whatever inference understands, a rewrite can compute: symbols become Shape (or the element) of a graph input, the
// normal form becomes Add, Mul, Div, Min, Max and Where on int64. Every expression and sub-expression is emitted once,
// at the top of the main graph, and shared. Rounding is toward minus infinity, as in expr/dim.h: where the range does
// not tell that the numerator is not negative, (a - a mod b) / b is emitted, since ONNX's integer Div truncates. Needs
// opset 12 for integer Min and Max; from 10 on, what is made of others can be emitted.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::rewrite {

class DimEmitter {
 public:
  // The oldest opset that every size, or some sizes, can be computed in.
  static constexpr int64_t kOpsetOfAll = 12, kOpsetOfSome = 10;

  // `input_shapes`: the shape of each graph input in the scope's symbols, which tells where a symbol can be read. Throws
  // thaw::Error where the model's opset is below `opset`.
  DimEmitter(Emitter& emitter, ir::Model& model, const std::unordered_map<const ir::Value*, ops::Shape>& input_shapes,
             int64_t opset = kOpsetOfAll);

  // What writes the nodes, and the position where they stand.
  Emitter& emitter() { return emitter_; }
  const ops::Emit& at() const { return at_; }
  // Where a symbol is an element of an integer input, counted in row-major order.
  void read_from(dim::Dim symbol, ir::Value* input, int64_t element);
  // Whether what was emitted so far reads elements of the input.
  bool reads_values_of(const ir::Value* input) const { return flat_.contains(input); }
  // Whether every symbol of d can be read from an input, and the opset has the operators that d takes.
  bool can_emit(dim::Dim d) const;
  // An int64 tensor [1] that holds d. `can_emit(d)` must hold.
  ir::Value* emit(dim::Dim d);
  // An int64 tensor [n] that holds the dims: a constant where all are, else a Concat.
  ir::Value* emit_shape(const ops::Shape& dims);
  // What was emitted so far, each expression and its parts once, in their order.
  const std::vector<dim::Dim>& emitted() const { return order_; }

 private:
  struct Origin {
    ir::Value* input = nullptr;
    int64_t index = 0;  // axis, or element in row-major order
    bool is_value = false;
  };
  ir::Value* constant(int64_t value) { return at_.list({value}); }
  ir::Value* read_symbol(int id);
  ir::Value* emit_product(const dim::Monomial& monomial);
  ir::Value* emit_atom(const dim::Atom& atom);
  ir::Value* emit_floor(dim::Dim numerator, dim::Dim denominator);

  Emitter& emitter_;
  ops::Emit at_;  // all that is emitted stands before the first node of the model as it was
  std::unordered_map<int, Origin> origins_;
  std::unordered_map<const void*, ir::Value*> emitted_;
  std::vector<dim::Dim> order_;
  std::unordered_map<const ir::Value*, ir::Value*> shapes_, flat_;
};

}  // namespace thaw::rewrite
