#include "thaw/lift/solve_in_order.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/trace_shapes.h"
#include "thaw/lift/fitted_tables.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

// What may hold sizes, or what is computed of them: not a table.
bool is_short(const ir::Tensor& tensor) {
  constexpr int64_t kMostNumbers = 64;
  return tensor.dims.size() <= 1 && tensor.num_elements() <= kMostNumbers;
}

// Whether an element of a list is solved by more than a size as it is, or its part.
bool leaves_room(Lifting& l, const Difference& difference) {
  std::vector<std::vector<int64_t>> lists;
  for (const ir::Tensor* tensor : difference.tensors) lists.push_back(tensor->to_int64());
  for (size_t i = 0; i < lists.front().size(); ++i) {
    std::vector<int64_t> at;
    for (const auto& list : lists) at.push_back(i < list.size() ? list[i] : 0);
    const std::vector<Solution> found = l.solver->solutions(at, 1);
    if (found.empty() || found.front().rule > Rule::kTensor) return true;
    // How many windows there are is 1 in a small trace, whatever else they are counted by.
    const bool is_small = std::ranges::min(at) == 1 && std::ranges::max(at) > 1;
    if (is_small && found.front().rule == Rule::kTensor) return true;
  }
  return false;
}

// Whether a Pad fills windows of data whose sizes are not known yet: amounts that no trace varies would be taken for constants.
bool fills_unknown(const Around& around) {
  return (around.fills_before || around.fills_after) &&
         std::ranges::any_of(around.axes, [](const Variable& axis) { return !axis.symbol.is_known(); });
}

}  // namespace

bool learn_sizes(Lifting& l, const SizesAround& sizes) {
  const size_t before = l.tensor_sizes.size();
  const TensorShapes shapes = l.tensor_shapes;
  const SizesInTraces in_traces = sizes.in_traces(l.tables);
  {
    const ir::Transaction edit(l.model());
    declare_inputs(l);
    write_tables(l);
    TensorSizes more = sizes_of_tensors(l.traces, l.variables, l.scope, in_traces, &l.tensor_shapes);
    for (const auto& [at, size] : more) {
      const auto known = l.tensor_sizes.find(at);
      const bool is_new = known == l.tensor_sizes.end() || !dim::same(known->second.dim, size.dim);
      if (!is_new) continue;
      l.solver->note_learned(size.dim);
      if (is_rounded_as(size.dim, l.solver->guessed(), l.told, l.variables))
        l.solver->note_guessed(size.dim);
      else
        l.told.add(size.dim);
    }
    // What is known better by now replaces what was learned behind a guess that has been given up.
    more.merge(l.tensor_sizes);
    l.tensor_sizes = std::move(more);
    l.sizes.reset();
    l.nodes.reset();
  }
  const auto is_known = [&](const auto& each) {
    const auto known = shapes.find(each.first);
    return known != shapes.end() && std::ranges::equal(known->second, each.second, dim::same);
  };
  return l.tensor_sizes.size() > before || !std::ranges::all_of(l.tensor_shapes, is_known);
}

void solve_sizes_in_order(Lifting& l, const SizesAround& sizes) {
  constexpr int kMostRounds = 24;
  std::set<const Difference*> guessed;
  bool waits = true, waited = false;  // a shape or a Pad, for the sizes of the data that it is given to
  for (int round = 0; round < kMostRounds; ++round) {
    l.tables.clear();
    l.solver->forget_guesses();
    const Difference* open = nullptr;
    for (const Difference& difference : l.alignment.differences) {
      if (l.options.keep_static.contains(difference.value->name())) continue;
      // Of positions that are read, how many there are tells the size of what is read.
      const bool reads = ops::role_of(*difference.node, difference.input) == ops::Role::kIndex && grows(difference);
      if (!reads && !is_short(*difference.tensors.front())) continue;
      auto padded = padded_sizes(l, difference, sizes);
      l.solver->be_sure(true);
      if (FittedTable* known = known_table(l, difference, padded, sizes)) {
        known->readers.push_back(&difference);
        continue;
      }
      sizes.tell(difference, *l.context);
      // What waits, and how large a table is, is not guessed.
      l.solver->be_sure(reads || !guessed.contains(&difference));
      std::string reason;
      const bool is_waiting =
          waits && (fills_unknown(l.context->around) || (sizes.waits(difference) && leaves_room(l, difference)));
      waited |= is_waiting;
      auto fit = is_waiting ? std::nullopt : (reads ? fit_shape : fit_sizes)(difference.tensors, *l.context, reason);
      if (fit) {
        add_table(l, difference, std::move(*fit), std::move(padded));
      } else if (!open && !reads && (is_waiting || (!reason.empty() && !guessed.contains(&difference)))) {
        open = &difference;
      }
    }
    l.solver->be_sure(false);
    const bool learned = (open || waited || l.choices.take_first()) && !l.tables.empty() && learn_sizes(l, sizes);
    // What was solved while the sizes of its data were not known is asked again once they are.
    if (!open && (!waited || !learned)) break;
    if (!open) continue;
    if (!learned && !std::exchange(waits, false)) guessed.insert(open);
  }
  l.tables.clear();
}

}  // namespace thaw::lifting
