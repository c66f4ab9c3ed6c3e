// Which nodes lose too much in 16 bits, and stay in float32.
//
// float16 ends at 65504 and has less than 1 % of error down to about 6e-6 alone (IEEE 754 binary16: 11 bits, exponents -14
// to 15). What a node makes of its operands may leave that range though they lie in it: squares, powers, exponentials, sums
// of many. bfloat16 has float32's range.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/half/typed_operands.h"
#include "thaw/quant/half/weight_range.h"

namespace thaw::quantizing {

// Numbers so large that no computation reaches them: they stand for infinity, in a mask.
inline constexpr double kStandsForInfinity = 1e9;
inline constexpr double kMostFloat16 = 65504;

// What a value was seen to hold, but for what is below -kStandsForInfinity.
struct SeenRange {
  double lowest = 0, highest = 0;
  double mean_magnitude = 0;  // the largest of any sample
};
using SeenRanges = std::unordered_map<const ir::Value*, SeenRange>;

// Where a number that no computation reaches stands for infinity: in what a softmax sees, and comparisons, and maxima.
class Masks {
 public:
  explicit Masks(const ir::Graph& graph) { follow(graph, true); }

  // Whether what the node makes of the operand's numbers comes to where any that is large enough does the same.
  bool reach(const ir::Node& node, int input) const;

 private:
  void follow(const ir::Graph& graph, bool is_main);
  bool leads_on(const ir::Node& node, bool is_main) const;

  std::unordered_set<const ir::Node*> leading_;  // nodes whose results come there
};

class Float32Fallback {
 public:
  // `seen`: of values that were measured; empty: nothing was, and rules decide. `seen_decides`: instead of the rules, where a
  // value was measured; else beside them.
  Float32Fallback(const ir::Graph& graph, ir::DataType to, SeenRanges seen, bool seen_decides)
      : to_(to), seen_(std::move(seen)), seen_decides_(seen_decides), masks_(graph) {}

  // Why the node, which could compute in the type, does not; empty where it does. Reads its constants.
  std::string keeps_wide(const ir::Node& node, const TypedOperands& operands);

  const WeightRange& range(const ir::Value& constant);
  // Whether what is too large in a constant that the node reads is infinity, and stays what it means when it is cut off.
  bool is_mask(const ir::Node& node, int input);
  // Whether the value was measured, and no rule says what it may be.
  bool is_settled(const ir::Value* value) const { return seen_decides_ && seen_.contains(value); }

 private:
  std::string constant_keeps_wide(const ir::Node& node, int input);
  std::string seen_keeps_wide(const ir::Node& node, const TypedOperands& operands) const;

  ir::DataType to_;
  SeenRanges seen_;
  bool seen_decides_;
  Masks masks_;
  std::unordered_map<const ir::Value*, WeightRange> ranges_;
};

// How constants are cut off that a node reads: a mask to what may still be added up several times.
struct Saturation;
Saturation saturation_at(const ir::Node& node, int input, ir::DataType to);

}  // namespace thaw::quantizing
