#include "thaw/lift/untold/untold_pads.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/term/numbers.h"
#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/lift/untold/hold_steady.h"
#include "thaw/ops/onnx/padded_windows.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// nullopt where it has no value at one of these.
std::optional<std::vector<int64_t>> values_at(Dim size, const std::vector<dim::Assignment>& at) {
  std::vector<int64_t> values;
  for (const dim::Assignment& each : at) {
    const auto value = dim::evaluate(size, each);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// The window up to which an axis is filled everywhere, where that is a whole one somewhere and in no trace; nullopt of others.
std::optional<int64_t> window_added(Dim size, Dim made, const std::vector<dim::Assignment>& traces,
                                    const std::vector<dim::Assignment>& unseen) {
  const auto sizes = values_at(size, traces), wholes = values_at(made, traces), sizes_there = values_at(size, unseen),
             wholes_there = values_at(made, unseen);
  if (!sizes || !wholes || !sizes_there || !wholes_there) return std::nullopt;
  int64_t window = 0;
  for (const auto* lengths : {&*wholes, &*wholes_there})
    for (const int64_t length : *lengths) window = std::gcd(window, length);
  bool adds_one = false;
  for (size_t k = 0; k < sizes->size(); ++k) {
    const int64_t added = (*wholes)[k] - (*sizes)[k];
    if (added <= 0 || added >= window) return std::nullopt;
  }
  for (size_t k = 0; k < sizes_there->size(); ++k) {
    const int64_t added = (*wholes_there)[k] - (*sizes_there)[k];
    if (added <= 0 || added > window) return std::nullopt;
    adds_one |= added == window;
  }
  const bool is_it = window > 1 && adds_one;
  return is_it ? std::optional(window) : std::nullopt;
}

// What is added before and behind an axis.
struct Ends {
  Dim before, behind;
};

// An axis that a Pad and the kernel behind it make longer.
struct PaddedAxis {
  Dim size;
  Ends own;
  int64_t kernel = 0, stride = 0;  // of the kernel, from its first entry to its last
};

// "Same" padding has its longer half behind an axis, or before it.
constexpr bool kLongerBefore[] = {false, true};
Ends same_padding(const PaddedAxis& axis, bool longer_before) {
  const Dim missing = dim::ceil_div(axis.size, axis.stride) * Dim(axis.stride) - axis.size,
            total = dim::max(missing + Dim(axis.kernel - axis.stride), 0), half = dim::floor_div(total, 2);
  return longer_before ? Ends{total - half, half} : Ends{half, total - half};
}

// nullopt where one of them has no value.
std::optional<bool> agree(const Ends& one, const Ends& other, const std::vector<dim::Assignment>& at) {
  const auto before = values_at(one.before, at), behind = values_at(one.behind, at),
             other_before = values_at(other.before, at), other_behind = values_at(other.behind, at);
  if (!before || !behind || !other_before || !other_behind) return std::nullopt;
  return before == other_before && behind == other_behind;
}

// amounts: of the Pad before the node.
void add_padded_axes(const ir::Node& node, const ops::Shape& data, const ops::Elements& amounts,
                     std::vector<PaddedAxis>& padded) {
  const auto windows = ops::padded_windows(node);
  const size_t rank = data.size(), sides = windows ? windows->strides.size() : 0;
  for (size_t i = 0; i < sides && sides <= rank; ++i) {
    const size_t axis = rank - sides + i;
    const Ends own{amounts[axis].as_dim() + Dim(windows->pads[i]),
                   amounts[axis + rank].as_dim() + Dim(windows->pads[i + sides])};
    const int64_t kernel = (windows->kernel[i] - 1) * windows->dilations[i] + 1, stride = windows->strides[i];
    if (stride > 1 && data[axis].is_symbolic() && own.before.is_known() && own.behind.is_known())
      padded.push_back({data[axis], own, kernel, stride});
  }
}

// Where the amounts of all axes of a kind are "same" padding in every trace, and elsewhere not. An axis that is padded otherwise rules it
// out for its kernel and stride.
void add_same_paddings(const std::vector<PaddedAxis>& axes, const std::vector<dim::Assignment>& traces,
                       const std::vector<dim::Assignment>& unseen, std::vector<Undecided>& found) {
  std::set<std::tuple<int64_t, int64_t, bool>> refuted;
  for (const PaddedAxis& axis : axes)
    for (const bool longer_before : kLongerBefore)
      if (!agree(axis.own, same_padding(axis, longer_before), traces).value_or(true))
        refuted.emplace(axis.kernel, axis.stride, longer_before);
  for (const PaddedAxis& axis : axes) {
    std::vector<Undecided> open;
    bool is_same = false;
    for (const bool longer_before : kLongerBefore) {
      if (refuted.contains({axis.kernel, axis.stride, longer_before})) continue;
      const Ends same = same_padding(axis, longer_before);
      is_same |= agree(axis.own, same, unseen).value_or(false);
      for (const auto& [taken, other] :
           {std::pair(axis.own.before, same.before), std::pair(axis.own.behind, same.behind)})
        if (!dim::same(taken, other))
          open.push_back(taken.is_symbolic() ? Undecided{taken, other, ""} : Undecided{other, taken, ""});
    }
    if (!is_same) std::ranges::move(open, std::back_inserter(found));
  }
}

}  // namespace

std::vector<Undecided> untold_pads(const Lifting& l, const Needs& needs) {
  std::vector<const ir::Node*> pads;
  for (const ir::Node* node : l.traces.front().model->graph->nodes())
    if (ops::role_of(*node, kPadAmounts) == ops::Role::kPads) pads.push_back(node);
  if (pads.empty() || l.variables.empty()) return {};
  const infer::Result& facts = needs.facts();
  const std::vector<dim::Assignment> traces = assignments_in_traces(l.variables),
                                     elsewhere = assignments_at(l.variables, l.solver->unseen());
  std::vector<Undecided> found;
  std::vector<PaddedAxis> padded;
  for (const ir::Node* pad : pads) {
    const auto &data = facts.fact(pad->input(0)).shape, &made = facts.fact(pad->output(0)).shape;
    if (!data || !made || data->size() != made->size()) continue;
    for (size_t axis = 0; axis < data->size(); ++axis) {
      const Dim size = (*data)[axis], whole = (*made)[axis];
      if (!size.is_symbolic() || !whole.is_symbolic() || dim::same(size, whole)) continue;
      if (const auto window = window_added(size, whole, traces, elsewhere))
        found.push_back({whole, dim::ceil_div(size, *window) * Dim(*window), ""});
    }
    const ops::ElementsPtr& amounts = facts.fact(pad->input(kPadAmounts)).elements;
    if (!amounts || amounts->size() != 2 * data->size()) continue;
    for (const ir::Use& use : pad->output(0)->uses())
      if (use.index == 0) add_padded_axes(*use.node, *data, *amounts, padded);
  }
  add_same_paddings(padded, traces, elsewhere, found);
  return found;
}

std::vector<Undecided> steady_pieces(const Lifting& l) {
  if (std::ranges::all_of(l.tables, [](const FittedTable& table) { return table.padded.empty(); })) return {};
  std::set<int64_t> told;
  const auto divisor_of = [](const dim::Atom& floor) { return floor.operands[1].constant().value_or(0); };
  for (const dim::Dim size : l.sizes->emitted())
    for_each_floor(size, [&](const dim::Atom& floor) {
      const std::vector<int64_t> at = in_traces(dim::floor_div(floor.operands[0], floor.operands[1]), l.variables);
      if (!all_equal(at)) told.insert(divisor_of(floor));
    });
  const std::vector<std::vector<int64_t>> extremes = extreme_sizes(l.variables, true);
  std::vector<Undecided> pieces;
  for (const FittedTable& table : l.tables) {
    if (table.padded.empty()) continue;
    for (const dim::Dim amount : table.fit.sizes)
      for (Undecided& part : steady_parts(amount, l.variables, extremes)) {
        bool is_told = false;
        for_each_floor(part.chosen, [&](const dim::Atom& floor) { is_told |= told.contains(divisor_of(floor)); });
        if (!is_told) pieces.push_back(std::move(part));
      }
  }
  return pieces;
}

}  // namespace thaw::lifting
