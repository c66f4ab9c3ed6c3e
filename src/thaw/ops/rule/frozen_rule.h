// How a frozen size shows at an operator, and how it is written back: the two rules behind frozen/ and fix/.
//
// Both see a model with the sizes that its inputs are thought to have had when it was frozen (the assumed sizes).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/obligation.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// A constant that stands where a size of the inputs should.
struct Meeting {
  int input = -1;    // the operand that it was read from
  int element = -1;  // which element of it, or which axis
  int64_t value = 0;
  dim::Dim expression;    // what belongs there
  bool is_shape = false;  // an element of a shape, else a size of the operand's
  bool is_index = false;  // the operand is a table of indices
  bool silent = false;    // other sizes run, and are wrong
  bool product = false;   // several elements share the size
  bool weak = false;      // says something only beside others
  bool by_axis = false;   // what made `element`, an axis of the operand, is followed by axis, not by number
  // Axes of the result that are 1 beside the size, and of which the operand has none: it was cut in two, into windows of which
  // there was one, or of which each was one long; or an axis was put in.
  std::vector<int> ones = {};
};

// A node of a model with its frozen sizes thawed: facts are what they were meant to be.
class ThawedView : public NodeView {
 public:
  virtual const dim::Assignment& assumed_sizes()
      const = 0;  // symbols at the sizes that the model was frozen at, as far as known
};

class FrozenContext : public ThawedView {
 public:
  // The elements of an operand as far as inference follows them; nullopt where it does not.
  std::optional<std::vector<dim::Dim>> followed(int i) const;
  // Whether the size is that of inputs' first axes, and of no other: what it counts lies one after the other.
  virtual bool is_batch(int symbol) const = 0;
  // What the node's rule stated, with the sizes that the model was meant for.
  virtual std::span<const Obligation> stated() const = 0;
  // Sets the shape that output i was meant to have.
  virtual void set_shape(int i, Shape shape) = 0;
  virtual void meet(const Meeting& meeting) = 0;
  // Positions of an axis of that size that a constant names: [first, last). Where constants name every one of an axis, it is
  // as long as the network says (real and imaginary parts).
  virtual void pick(dim::Dim size, int64_t first, int64_t last) = 0;
  // A number that the size may have been when the model was frozen, by what the node says: nothing by itself, and evidence beside
  // an output that is declared to have the size, and has the number.
  virtual void suspect(dim::Dim size, int64_t value) = 0;
  // An equation that helps to solve for the assumed sizes, and need not hold for the node to run.
  virtual void suggest(dim::Dim a, dim::Dim b, std::string_view what) = 0;
};

}  // namespace thaw::ops
