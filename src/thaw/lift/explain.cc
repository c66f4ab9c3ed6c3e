// Explaining what differs between traces: every constant as sizes or a table, every loop as a batch of windows.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/around/pieces.h"
#include "thaw/lift/around/sizes_around.h"
#include "thaw/lift/around/slices.h"
#include "thaw/lift/steps.h"
#include "thaw/lift/table/kept/learned_grid.h"
#include "thaw/lift/unknowns/steady_integers.h"
#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/lift/untold/idle_masks.h"
#include "thaw/lift/untold/no_ops.h"
#include "thaw/lift/untold/steady_coordinates.h"
#include "thaw/lift/untold/written_out.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

// What a size was in each trace. Of one that never changed nothing is learned.
Note note_of_size(const Variable& variable) {
  std::vector<std::string> at;
  for (const int64_t value : variable.at) at.push_back(std::to_string(value));
  return {
      dim::to_string(variable.symbol),
      fmt::format("{}{}", fmt::join(at, ", "), variable.varies() ? "" : ": right at this value, unobserved at others"),
      at};
}

// Windows of a grid are told by its sides. Windows of a list are told by their size, and by the tensor that is cut.
bool fit_windows(WindowLoops& windows, Lifting& lifting, std::string& reason) {
  const auto equal = equal_windows(windows.lengths);
  const bool has_short_one = std::any_of(windows.lengths.begin(), windows.lengths.end(), [&](const auto& lengths) {
    return lengths.size() > 1 && lengths.back() != lengths.front();
  });
  if (equal && has_short_one) {
    windows.size = equal;
    return true;
  }
  std::vector<ir::Tensor> lists;
  for (const auto& lengths : windows.lengths)
    lists.push_back(ir::Tensor::from_int64("window_lengths", {static_cast<int64_t>(lengths.size())}, lengths));
  const std::vector<const ir::Tensor*> tensors = pointers_to(lists);
  lifting.context->around = {};  // no node reads this list
  lifting.context->pads = false;
  lifting.context->holds_sizes = false;
  windows.fit = fit_table(tensors, *lifting.context, reason);
  if (windows.fit && lifting.holdout) lifting.holdout->compare(tensors, *windows.fit);
  if (!windows.fit) windows.size = equal;
  return windows.fit || windows.size;
}

void batch_loop(const Loop& loop, const TraceShapes& shapes, Lifting& lifting) {
  LiftReport& report = lifting.report;
  std::vector<std::vector<int64_t>> lengths;
  std::vector<std::string> evidence;
  for (const Unrolled& unrolled : loop.traces) {
    lengths.push_back(unrolled.lengths);
    evidence.push_back(fmt::format("{} branches", unrolled.lengths.size()));
  }
  const std::string place = fmt::format("{} joins a branch for each window", loop.traces[0].joins[0]->describe());
  auto windows = std::find_if(lifting.windows.begin(), lifting.windows.end(),
                              [&](const WindowLoops& known) { return known.lengths == lengths; });
  if (windows == lifting.windows.end()) {
    WindowLoops fresh{.lengths = lengths};
    std::string reason;
    if (!fit_windows(fresh, lifting, reason)) {
      report.unexplained.push_back({place, reason, evidence});
      return;
    }
    windows = lifting.windows.insert(lifting.windows.end(), std::move(fresh));
  }
  try {
    windows->loops.emplace_back(&loop, batched_body(loop, lifting.alignment, shapes, lifting.model()));
  } catch (const CannotRoll& reason) {
    report.unexplained.push_back({place, reason.why, evidence});
    return;
  }
  report.lifted.push_back({place,
                           windows->size
                               ? fmt::format("one batch of windows of {}, the last of what is left", *windows->size)
                               : "one batch of windows, padded: " + windows->fit->description,
                           evidence});
}

// What may hold sizes, or what is computed of them: not a table.
bool is_short(const ir::Tensor& tensor) {
  constexpr int64_t kMostNumbers = 64;
  return tensor.dims.size() <= 1 && tensor.num_elements() <= kMostNumbers;
}

// How much is padded follows from what is padded: the same amounts stand at sizes that have nothing to do with each other.
std::vector<std::vector<int64_t>> padded_sizes(Lifting& l, const Difference& difference, const SizesAround& sizes) {
  std::vector<std::vector<int64_t>> padded;
  if (ops::role_of(*difference.node, difference.input) != ops::Role::kPads) return padded;
  sizes.tell(difference, *l.context);
  for (const Variable& axis : l.context->around.axes) padded.push_back(axis.at);
  return padded;
}

// Whether a shape that is the same in all traces is the same elsewhere: what it is given to may be as large here and rounded otherwise.
bool says_the_same(Lifting& l, const Difference& difference, const SizesAround& sizes, FittedTable& table) {
  if (table.fit.sizes.empty()) return true;
  const ops::Role role = ops::role_of(*difference.node, difference.input);
  const bool is_told = role == ops::Role::kShape || role == ops::Role::kBounds;
  sizes.tell(difference, *l.context);
  const Around& around = l.context->around;
  std::string data = is_told ? "" : fmt::format("role {}, ", static_cast<int>(role)), reason;
  for (const Variable& axis : around.axes) data += dim::to_string(axis.symbol) + ", ";
  for (const dim::Dim size : around.given_back) data += "back to " + dim::to_string(size) + ", ";
  if (table.given_to.contains(data)) return true;
  // Also where it says nothing else, it may leave open here what it does not leave open there (Solver::taken).
  const auto own = fit_sizes(difference.tensors, *l.context, reason);
  const bool may_differ = is_told && (around.elements.is_known() || !around.given_back.empty() || table.is_given_back);
  if (may_differ && own && own->description != table.fit.description) return false;
  table.given_to.insert(std::move(data));
  return true;
}

FittedTable* known_table(Lifting& l, const Difference& difference, const std::vector<std::vector<int64_t>>& padded,
                         const SizesAround& sizes) {
  const auto known = std::ranges::find_if(l.tables, [&](FittedTable& table) {
    const Difference& first = *table.readers.front();
    const bool is_taken_alike = std::ranges::equal(first.taken, difference.taken, [](const auto& a, const auto& b) {
      return a.first == b.first && dim::same(a.second, b.second);
    });
    return is_taken_alike && table.padded == padded && same_tables(first.tensors, difference.tensors) &&
           says_the_same(l, difference, sizes, table);
  });
  return known == l.tables.end() ? nullptr : &*known;
}

void add_table(Lifting& l, const Difference& difference, TableFit fit, std::vector<std::vector<int64_t>> padded) {
  for (const TableFit::Made& formula : fit.formulas)
    for (const dim::Dim size : formula.sizes) l.solver->note_used(size);
  l.tables.push_back({{&difference}, std::move(fit), std::move(padded)});
  l.tables.back().is_given_back = !l.context->around.given_back.empty();
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

// With what is explained so far in its place, inference knows more sizes: those behind a Pad whose amounts were solved.
// Whether it does, or knows some of them for another size than before.
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

// Solves the sizes that the inputs and the tensors around them tell, and has inference learn what follows; where that is
// no more, one that leaves room for chance, the first of the model. What stands behind it is then known for what it is,
// and need not be guessed.
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

void batch_windows(Lifting& l) {
  if (l.alignment.loops.empty()) return;
  const TraceShapes shapes(l.traces, l.variables, l.alignment);
  for (const Loop& loop : l.alignment.loops) {
    const size_t before = l.report.unexplained.size();
    batch_loop(loop, shapes, l);
    const auto as_often = [&](const Unrolled& other) { return other.lengths.size() == loop.traces[0].lengths.size(); };
    if (l.report.unexplained.size() > before && std::ranges::all_of(loop.traces, as_often))
      l.steady_loops.insert(name_of(loop));
  }
}

void compare_holdout(Lifting& l) {
  if (!l.holdout) return;
  for (auto& [where, message] : l.holdout->notes()) l.report.holdout.push_back({where, message});
}

}  // namespace thaw::lifting
