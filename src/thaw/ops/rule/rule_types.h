// The rules that an operator's entry may hold, as types: what an entry says, without what its rules are given.
//
// What a rule knows of a node, and what it may do, stands in the header that is named with it. Who writes a rule or
// calls one includes that; who only asks an entry does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace thaw {
enum class DataType : int32_t;
}
namespace thaw::dim {
class Dim;
}
namespace thaw::ir {
class Graph;
class Node;
class Value;
}  // namespace thaw::ir

namespace thaw::ops {

class NodeView;  // node_view.h

// context.h: the facts of the outputs, and what must hold for the node to run.
class Context;
using ShapeRule = void (*)(Context&);

// needs.h: what must hold of the numbers in its operands for it to run, states obligations; nullptr: nothing is asked of data,
// and what operands hold that sizes are made of or that name positions is open.
using NeedsRule = void (*)(Context&);

// value_range.h: between what the integers of its outputs lie, by its operands'; sets ranges. nullptr: not known.
using RangeRule = void (*)(Context&);

// axes.h: which axis of an output comes from which axis of which input. By a pattern, by a function for what depends
// on attributes, or a reason why neither can.
struct AxesMap;
struct Axes {
  using Rule = std::optional<AxesMap> (*)(NodeView&);
  std::string_view pattern = {};
  Rule rule = nullptr;
  std::string_view why_not = {};  // a clause: "its output's size depends on its data"
  int most = INT32_MAX;           // axes of the first operand that kernels take

  bool is_stated() const { return !pattern.empty() || rule || !why_not.empty(); }
};

// batch.h: what the node becomes when the samples of a batch run at once. By a rule, or the reason why it cannot be
// batched.
class BatchContext;
using BatchRule = void (*)(BatchContext&);
struct Batch {
  BatchRule rule = nullptr;
  std::string_view why_not = {};
  bool is_stated() const { return rule || !why_not.empty(); }
};

// frozen_rule.h: how a frozen size shows; what the elements of a size operand must be for the outputs to have the
// shapes that the view says (an unknown Dim is left as it is; nullopt where that does not follow).
class FrozenContext;
class ThawedView;
using FrozenRule = void (*)(FrozenContext&);
using SizeRule = std::optional<std::vector<dim::Dim>> (*)(ThawedView&, int operand);

// bodies.h: the graphs that a node holds, in an opset, by how many operands and results it has.
struct BodyArity;
using BodyRule = std::vector<BodyArity> (*)(const ir::Node&, int64_t opset);

// rounds.h: how often it runs one of them.
using RoundsRule = dim::Dim (*)(NodeView&, const ir::Graph&);

// cost.h: how many operations it takes. What has no rule is counted by its class: one operation an element of the
// output, of what is reduced an element of the operand. Unknown where sizes are.
using FlopRule = dim::Dim (*)(NodeView&);

// adapter.h: what it must become to mean the same in another opset. Throws NoEqual.
class AdapterContext;
using AdapterRule = void (*)(AdapterContext&);

// Of what draws numbers: numbers of the node's distribution, in its shape and `type`, by their positions alone; others
// for another `salt`, which is small and not negative. Throws CannotWrite (emit.h) where the opset has no operators
// for them.
class Emit;
using NoiseRule = ir::Value* (*)(const ir::Node& node, DataType type, int64_t salt, const Emit& at);

// magnitude.h: how large its numbers are, by how large its operands' are.
struct Magnitude;
class MagnitudeContext;
using MagnitudeRule = Magnitude (*)(MagnitudeContext&);

}  // namespace thaw::ops
