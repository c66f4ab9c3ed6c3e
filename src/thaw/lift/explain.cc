// Explaining what differs between traces: which sizes they have, and every constant as sizes or a table.
#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/around/pieces.h"
#include "thaw/lift/around/sizes_around.h"
#include "thaw/lift/around/slices.h"
#include "thaw/lift/fitted_tables.h"
#include "thaw/lift/solve_in_order.h"
#include "thaw/lift/steps.h"
#include "thaw/lift/table/kept/learned_grid.h"
#include "thaw/lift/unknowns/steady_integers.h"
#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/lift/untold/idle_masks.h"
#include "thaw/lift/untold/no_ops.h"
#include "thaw/lift/untold/steady_coordinates.h"
#include "thaw/lift/untold/written_out.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// What a size was in each trace. Of one that never changed nothing is learned.
Note note_of_size(const Variable& variable) {
  std::vector<std::string> at;
  for (const int64_t value : variable.at) at.push_back(std::to_string(value));
  return {
      dim::to_string(variable.symbol),
      fmt::format("{}{}", fmt::join(at, ", "), variable.varies() ? "" : ": right at this value, unobserved at others"),
      at};
}

// Whether a size is left to what the nodes need of it.
bool is_unsolved(const Lifting& l, const TableFit& fit) {
  return std::ranges::any_of(fit.sizes, [&](dim::Dim size) {
    const std::vector<int> symbols = dim::symbols_of(size);
    return std::ranges::any_of(l.solver->unsolved(), [&](const auto& unsolved) {
      return std::ranges::find(symbols, l.scope.symbol_id(unsolved.second)) != symbols.end();
    });
  });
}

// Axes of tensors that lie side by side and grow, each pair of sizes once.
Grids axes_side_by_side(const Lifting& l) {
  Grids grids;
  const auto grows = [](const std::vector<int64_t>& at) {
    return !at.empty() && std::ranges::min(at) > 0 &&
           std::ranges::any_of(at, [&](int64_t n) { return n != at.front(); });
  };
  std::set<std::pair<const dim::Expr*, const dim::Expr*>> seen;
  for (const ir::Node* node : l.alignment.nodes.front()) {
    for (const ir::Value* output : node->outputs()) {
      const auto shape = l.tensor_shapes.find(output);
      if (shape == l.tensor_shapes.end()) continue;
      for (size_t axis = 0; axis + 1 < shape->second.size(); ++axis) {
        const dim::Dim down = shape->second[axis], across = shape->second[axis + 1];
        if (!down.is_symbolic() || !across.is_symbolic() || !seen.emplace(down.expr(), across.expr()).second) continue;
        const Size height{down, in_traces(down, l.variables)}, width{across, in_traces(across, l.variables)};
        if (!grows(height.at) || !grows(width.at)) continue;
        auto& known = grids[(height * width).at];
        const auto is_it = [&](const auto& each) { return each.first.at == height.at && each.second.at == width.at; };
        if (std::ranges::none_of(known, is_it)) known.emplace_back(height, width);
      }
    }
  }
  return grids;
}

void fit_each(Lifting& l, const SizesAround& sizes) {
  l.context->grids = axes_side_by_side(l);
  l.context->layouts.clear();
  l.solver->leave_unsolved(l.options.keep_static.empty());
  std::vector<size_t> waves;  // tables of frequencies that another may tell better
  for (const Difference& difference : l.alignment.differences) {
    if (l.options.keep_static.contains(difference.value->name())) continue;
    std::string reason;
    auto padded = padded_sizes(l, difference, sizes);
    if (FittedTable* known = known_table(l, difference, padded, sizes)) {
      l.report.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
      known->readers.push_back(&difference);
      continue;
    }
    sizes.tell(difference, *l.context);
    l.context->frequencies.badly = false;
    if (auto fit = fit_table(difference.tensors, *l.context, reason)) {
      if (l.context->frequencies.badly) waves.push_back(l.tables.size());
      l.report.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
      if (is_unsolved(l, *fit))
        l.unsolved.push_back({place_of(difference),
                              "no size of the inputs gives some of its integers, and its nodes do not tell them",
                              evidence(difference.tensors)});
      else if (l.holdout)
        l.holdout->compare(difference.tensors, *fit, l.context->around, l.context->pads);
      add_table(l, difference, std::move(*fit), std::move(padded));
    } else {
      l.report.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
    }
  }
  l.solver->leave_unsolved(false);
  l.context->frequencies.is_last = true;
  for (const size_t place : waves) {
    FittedTable& table = l.tables[place];
    const Difference& first = *table.readers.front();
    std::string reason;
    sizes.tell(first, *l.context);
    auto fit = fit_table(first.tensors, *l.context, reason);
    if (!fit) {
      l.report.unexplained.push_back({place_of(first), reason, evidence(first.tensors)});
      continue;
    }
    for (Note& note : l.report.lifted)
      if (note.message == table.fit.description) note.message = fit->description;
    table.fit = std::move(*fit);
  }
  l.context->frequencies.is_last = false;
}

void note_steady(Lifting& l) {
  l.steady_sizes = find_steady_sizes(l.alignment.nodes.front(), l.tensor_shapes, l.variables);
  note_steady_coordinates(l);
  AtNoOps found = at_no_ops(l);
  l.sizes_at_no_ops = std::move(found.sizes);
  std::ranges::move(found.given_back, std::back_inserter(l.undecided));
  note_cut_windows(l);
  std::ranges::move(limits_of_idle_masks(l), std::back_inserter(l.limits));
}

}  // namespace

void find_sizes(Lifting& l) {
  l.variables = find_variables(l.traces, l.options.added, l.scope);
  l.tensor_sizes = sizes_of_tensors(l.traces, l.variables, l.scope);
  l.solver.emplace(l.variables, &l.choices, &l.tensor_sizes);
  std::vector<std::vector<int64_t>> unseen = unseen_sizes(l.variables);
  std::ranges::move(sizes_beyond(l.variables), std::back_inserter(unseen));
  std::ranges::move(sizes_of_any_step(l.variables), std::back_inserter(unseen));
  l.solver->draw(std::move(unseen));
  l.solver->know_cuts(l.found.cuts);
  l.context.emplace(TableContext{l.variables, *l.solver});
  l.context->before = &l.found.fitted;
  l.context->antialias = has_antialiasing(l.model());
  if (!l.is_trial) l.holdout.emplace(l.traces, l.variables, l.tensor_sizes, l.found.fitted);
  for (const Variable& v : l.variables) l.report.symbols.push_back(note_of_size(v));
  for (const std::string& input : values_passed_over(l.traces, l.variables))
    l.report.skipped_inputs.push_back({input, "its values are data, of which no size is read", {}});
}

void align_traces(Lifting& l) {
  for (Trace& trace : l.traces) rewrite::remove_unused(*trace.model);
  l.alignment = align(l.traces, l.found.plain_loops);
  note_steady_pads(l.alignment);
  note_taken(l.alignment, l.choices.by_place, l.scope);
  for (const std::string& clause : l.alignment.unaligned)
    l.report.unexplained.push_back({clause, "only constants and loops over windows are lifted"});
}

void fit_tables(Lifting& l) {
  const bool is_frozen = !l.alignment.differences.empty();
  if (!is_frozen && (l.alignment.nodes.empty() || std::ranges::none_of(l.variables, &Variable::varies))) return;
  const SizesAround sizes(l);
  l.tensor_sizes = sizes_of_tensors(l.traces, l.variables, l.scope, sizes.in_traces({}), &l.tensor_shapes);
  for (const auto& [at, size] : l.tensor_sizes) l.told.add(size.dim);
  for (const ir::Node* node : l.alignment.nodes.front())
    if (ops::role_of(*node, kPadAmounts) == ops::Role::kPads)
      l.windows_of_pads[node] = windows_after(sizes.shapes(), *node);
  if (!is_frozen) {
    note_steady(l);
    return;
  }
  solve_sizes_in_order(l, sizes);
  l.context->joined = joined_sizes(sizes.shapes());
  if (!l.is_trial) l.holdout.emplace(l.traces, l.variables, l.tensor_sizes, l.found.fitted, l.context->joined);
  l.solver->forget_guesses();
  fit_each(l, sizes);
  // What is written down of facts that were not known in time says nothing.
  for (const Trace& trace : l.traces) trace.model->budget->require(trace.name);
  if (l.report.unexplained.empty() && l.unsolved.empty()) learn_sizes(l, sizes);
  std::ranges::move(steady_middles(sizes.shapes()), std::back_inserter(l.undecided));
  note_steady(l);
}

void compare_holdout(Lifting& l) {
  if (!l.holdout) return;
  for (auto& [where, message] : l.holdout->notes()) l.report.holdout.push_back({where, message});
}

}  // namespace thaw::lifting
