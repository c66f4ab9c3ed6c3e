// Which axis of an output comes from which axis of which input, and whether positions along it meet.
//
// One description serves all who ask: batching (samples stay apart along a preserved axis), masking of padded windows
// (positions that are contracted or mixed must not see the padding), splitting, the channel axis of a quantizer. It is
// what tract calls an operator's axes mapping, and what einsum writes as "ij,jk->ik".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// How the positions along an axis meet.
enum class AxisKind : uint8_t {
  kPreserved,  // apart: position p of every output depends on position p of the inputs that have the axis, and on no other
  kMixed,      // outputs have the axis, and a position of theirs depends on several: a convolved axis, a softmax
  kContracted,  // inputs have it, no output does: a sum of products, a mean, a global pool
  kNew,         // outputs have it, no input does: it is made from sizes, or counted out
};

// What becomes of positions that meet. Tells the number that has no part in the result, which padding is filled with.
enum class Combine : uint8_t {
  kOther,       // none that is known
  kSum,         // 0: sums, and sums of products
  kMean,        // 0, and the mean is over fewer
  kMaximum,     // the lowest number
  kMinimum,     // the highest number
  kSoftmax,     // the lowest number; the result is 0 there
  kLogSoftmax,  // the lowest number
};

struct OperandAxis {
  int operand = 0;  // input or output
  int axis = 0;     // counted from the front
  bool operator==(const OperandAxis&) const = default;
};

struct AxisLink {
  AxisKind kind = AxisKind::kPreserved;
  Combine combine = Combine::kOther;
  std::vector<OperandAxis> inputs, outputs;
  int index = -1;  // the operand whose numbers say which positions are read along a contracted axis: Gather's indices

  std::optional<int> axis_of_input(int operand) const { return axis_of(inputs, operand); }
  std::optional<int> axis_of_output(int operand) const { return axis_of(outputs, operand); }

 private:
  static std::optional<int> axis_of(const std::vector<OperandAxis>& positions, int operand);
};

// All axes of a node's operands; an axis that no link has is a parameter's own. An axis of size 1 that broadcasts is
// linked with those that it broadcasts to.
struct AxesMap {
  std::vector<AxisLink> links;
  // How many axes of input i stand for any number ("..."): an operator takes more of them before these. -1: none do.
  std::vector<int> leading;

  const AxisLink* of_input(int operand, int axis) const;
  const AxisLink* of_output(int operand, int axis) const;
  bool takes_leading(int operand) const { return leading_of(operand) >= 0; }
  int leading_of(int operand) const {
    return operand < static_cast<int>(leading.size()) ? leading[static_cast<size_t>(operand)] : -1;
  }

  // For rules that build a map.
  void keep(std::vector<OperandAxis> inputs, std::vector<OperandAxis> outputs) {
    links.push_back({AxisKind::kPreserved, Combine::kOther, std::move(inputs), std::move(outputs)});
  }
  // Axes 0 to rank - 1, but those left out, are preserved in their positions, from the first inputs to the first outputs.
  void keep_in_place(int rank, std::span<const int> but, int num_inputs = 1, int num_outputs = 1);
  // Axes of input 0 stay in their places in output 0, preserved or, as is_mixed(axis) says, mixed.
  template <typename IsMixed>
  static AxesMap in_place(int rank, IsMixed is_mixed, Combine combine = Combine::kOther) {
    AxesMap map;
    for (int k = 0; k < rank; ++k) {
      if (is_mixed(k)) {
        map.mix({{0, k}}, {{0, k}}, combine);
      } else {
        map.keep({{0, k}}, {{0, k}});
      }
    }
    return map;
  }
  void mix(std::vector<OperandAxis> inputs, std::vector<OperandAxis> outputs, Combine combine = Combine::kOther) {
    links.push_back({AxisKind::kMixed, combine, std::move(inputs), std::move(outputs)});
  }
  void contract(std::vector<OperandAxis> inputs, Combine combine = Combine::kOther, int index = -1) {
    links.push_back({AxisKind::kContracted, combine, std::move(inputs), {}, index});
  }
  void add_new(std::vector<OperandAxis> outputs) {
    links.push_back({AxisKind::kNew, Combine::kOther, {}, std::move(outputs)});
  }
};

// The map of a pattern, or nullopt where the ranks do not fit it or are not known.
//
//   pattern  := form {"|" form}                 the first that fits the ranks
//   form     := term {"," term} "->" term {"," term}
//   term     := axis*                           one for each operand; none: a parameter of any rank
//   axis     := name["~"]["..."] | "..." | "_" | "[" name "]"
//
// Equal names are one axis: preserved, or with "~" mixed; in inputs only it is contracted, as a sum of products unless it has
// a "~"; in outputs only it is new. "..." is any number of axes, aligned at the right, that broadcast; so is a name followed by it. "_" has to do with no other axis. A name
// in brackets is left out, from the left, where the operand has fewer axes. A term followed by "*" repeats for all
// operands after it. An operand of rank 0 fits any term. Operands and outputs that the pattern does not name are
// parameters.
//
//   "n c x~..., m _ _..., m -> n m x~..."   Conv        ("x~..." : any number of mixed axes)
//   "... i k, ... k j -> ... i j"           MatMul
std::optional<AxesMap> match_axes(std::string_view pattern, NodeView& view);

// The node's map by what its operator's entry says; nullopt where that has none, its ranks are not known, or it names an axis that no operand
// has.
std::optional<AxesMap> axes_of(NodeView& view);

// How an entry says it.
constexpr Axes axes_by(std::string_view pattern, int most = INT32_MAX) { return {.pattern = pattern, .most = most}; }
constexpr Axes axes_by(Axes::Rule rule) { return {.rule = rule}; }
constexpr Axes no_axes(std::string_view why) { return {.why_not = why}; }

// Every operand broadcasts to the output.
inline constexpr Axes kBroadcastAxes = axes_by("...* -> ...");

}  // namespace thaw::ops
