#include "thaw/lift/with_choices.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/lift/other_cuts.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/unknowns/ask_nodes.h"
#include "thaw/lift/unknowns/undecided.h"
#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/lift/untold/equal_sides.h"
#include "thaw/lift/untold/hold_steady.h"
#include "thaw/lift/untold/narrow.h"
#include "thaw/lift/untold/untold.h"

namespace thaw::lifting {
namespace {

using Step = void (*)(Lifting&);

constexpr Step kExplain[] = {
    find_sizes,          // what differs between the traces' inputs gets names; sizes that inference knows are solved
    align_traces,        // node stands for node; what differs are constants, and loops that were unrolled
    note_distances,      // which sizes count distances both ways
    fit_tables,          // each integer is solved as an expression, each table fitted by a generator
    question_distances,  // what a table goes on to where no trace reaches
    batch_windows,       // each loop over windows becomes one padded, masked batch
    compare_holdout,     // what would the traces say without one of them?
};

constexpr Step kWrite[] = {
    declare_inputs,         // names for their sizes; those that the exporter took out come back
    write_tables,           // constants become nodes that compute them
    write_windows,          // batches take the place of the loops
    declare_anew,           // what is declared of outputs and inner tensors follows from the graph
    state_sizes_of_inputs,  // how a size and the values of an input hang together, where `check` reads it
};

// A trace of which not all is known in time explains nothing.
void require_budget(const std::vector<Trace>& traces) {
  for (const Trace& trace : traces) trace.model->budget->require(trace.name);
}

// Squares leave two axes one size: what either explains both do, and the search among all of it may be what is over budget.
std::optional<Error> over_budget_by_squares(const Error& error, const std::vector<Trace>& traces,
                                            std::span<const Variable> variables) {
  if (error.code() != ErrorCode::kOutOfBudget) return std::nullopt;
  const std::vector<EqualSides> equal = equal_sides(traces, variables);
  if (equal.empty()) return std::nullopt;
  const EqualSides& sides = equal.front();
  ErrorParts parts = error.parts();
  parts.what +=
      fmt::format("; axes {} and {} of '{}' are as long as each other in every trace, and nothing tells them apart",
                  sides.axis, sides.other, sides.input->name());
  parts.next = fmt::format("trace one size whose axes {} and {} differ, or {}", sides.axis, sides.other, parts.next);
  return Error(error.code(), std::move(parts));
}

// In parentheses what may only be computed to be rounded: x + 2 of floor((x + 2) / 3).
std::vector<std::string> texts_of_sizes(std::span<const dim::Dim> emitted) {
  std::unordered_set<const dim::Expr*> rounded;
  for (const dim::Dim size : emitted)
    for_each_floor(size, [&](const dim::Atom& floor) {
      if (floor.operands[0].is_symbolic()) rounded.insert(floor.operands[0].expr());
    });
  std::vector<std::string> texts;
  for (const dim::Dim size : emitted) {
    const bool is_rounded = num_summands(size) > 1 && rounded.contains(size.expr());
    texts.push_back(is_rounded ? fmt::format("({})", dim::to_string(size)) : dim::to_string(size));
  }
  std::ranges::sort(texts);
  return texts;
}

// In each trace, the readers of the tables that its exporter rounded wrongly.
std::vector<std::vector<TableReader>> readers_of_corrected(const Lifting& l) {
  const auto& nodes = l.alignment.nodes;
  std::vector<std::vector<TableReader>> readers(l.traces.size());
  std::unordered_map<const ir::Node*, std::vector<const Difference*>> read;
  for (const FittedTable& table : l.tables)
    for (const Difference* reader : table.readers)
      if (table.fit.departs) read[reader->node].push_back(reader);
  for (size_t i = 0; !read.empty() && i < nodes.front().size(); ++i)
    if (const auto found = read.find(nodes.front()[i]); found != read.end())
      for (const Difference* reader : found->second)
        for (size_t k = 0; k < nodes.size(); ++k)
          readers[k].push_back({nodes[k][i]->output(0)->name(), reader->input, reader->tensors[k]->to_double()});
  return readers;
}

// The steps in their order, as far as the budget goes.
void explain(Lifting& l) {
  try {
    for (const Step step : kExplain) {
      step(l);
      require_budget(l.traces);
    }
  } catch (const Error& error) {
    if (const auto squares = over_budget_by_squares(error, l.traces, l.variables)) throw *squares;
    throw;
  }
}

// Whether the traces are to be explained again, as they were changed or are aligned otherwise.
bool begins_again(Lifting& l) {
  constexpr int kMostCutRounds = 16;
  if (!l.steady_loops.empty()) {
    l.found.plain_loops.merge(l.steady_loops);
    return true;
  }
  if (!l.report.unexplained.empty() || l.found.cut_rounds == kMostCutRounds || !cut_other_axes(l)) return false;
  ++l.found.cut_rounds;
  return true;
}

// What the nodes say of what was written, and at which sizes it is known. traced: the nodes of the trace that are left; equal: axes.
void judge(Lifting& l, const std::unordered_set<const ir::Node*>& traced, const std::vector<EqualSides>& equal,
           const std::vector<std::vector<int64_t>>* tried_at, Attempt& made) {
  const ir::Model& model = l.model();
  const bool is_free = l.options.keep_static.empty();  // what is kept static contradicts other sizes, as it is asked to
  if (is_free) {
    made.contradictions = find_contradictions(model, l.variables, traced);
    if (tried_at) {
      const Contradictions there = find_contradictions(model, l.variables, traced, *tried_at);
      made.broken_where_tried = there.broken + there.unmade;
    }
    if (l.traces.size() == 2) made.beyond = find_contradictions(model, l.variables, traced, sizes_beyond(l.variables));
  }
  require_budget(l.traces);
  if (made.contradictions.broken > 0) {
    ask_before(l, traced, made.contradictions.first_node, {}, made);
    return;
  }
  const Needs needs(model, input_shapes(l), l.variables, l.scope, traced);
  Domain domain = domain_of({l, equal, needs});
  if (is_free) made.broken_at = narrow_to_proven(l, domain, needs, traced);
  if (tried_at) {
    made.of_any_step = find_contradictions(model, l.variables, traced, sizes_of_any_step(l.variables));
    return;
  }
  if (is_free) {
    const auto held = hold_steady(domain, l.steady_sizes, model, l.variables, traced);
    made.holds_steady = held.has_value();
    if (!made.broken_at && !held) hold_needs_outside(l, domain, needs);
    for (const FittedTable& table : l.tables) l.solver->note_written(table.written_by, table.fit.growing);
    made.open = open_choices(*l.solver, made.emitted, l.variables, domain,
                             [&](const std::vector<int64_t>& sizes) { return runs_at(model, l.variables, {sizes}); });
    if (const auto& broken_at = made.broken_at ? made.broken_at : held)
      ask_before(l, traced, find_contradictions(model, l.variables, traced, {*broken_at}).first_node, {*broken_at},
                 made);
    else if (!made.open.empty())
      ask_of_open(l, traced, made);
    if (!made.open.empty() || !made.choices.take_first())
      made.of_any_step = find_contradictions(model, l.variables, traced, sizes_of_any_step(l.variables));
    domain.followed = followed_by_need(model, l.variables, traced);
  }
  for (const auto& [size, of] : domain.followed)
    made.followed.push_back({dim::to_string(size), dim::to_string(of), {}});
  add_equal_sides(domain, equal, {});
  guard(l, domain);
}

}  // namespace

Attempt lift_with(std::vector<Trace>& traces, const LiftOptions& options, Choices choices, Found& found,
                  const std::vector<std::vector<int64_t>>* tried_at) {
  Attempt made{.choices = std::move(choices)};
  Lifting l(traces, options, made.choices, found, tried_at != nullptr);
  explain(l);
  if (begins_again(l)) return lift_with(traces, options, std::move(made.choices), found, tried_at);
  made.report = std::move(l.report);
  made.report.departs = std::ranges::any_of(l.tables, [](const FittedTable& table) { return table.fit.departs; });
  made.cuts = l.solver->told_cuts();
  if (l.holdout) made.unconfirmed = l.holdout->nothing_confirmed();
  if (!made.is_whole()) return made;
  if (!tried_at) made.corrected = readers_of_corrected(l);
  ir::Model& model = l.model();
  std::unordered_set<const ir::Node*> traced;
  for (const ir::Node* node : model.graph->nodes()) traced.insert(node);
  const std::vector<EqualSides> equal = equal_sides(traces, l.variables);
  made.edit = std::make_unique<ir::Transaction>(model);
  drop_stated_domain(model);
  for (const Step step : kWrite) step(l);
  if (!l.unsolved.empty()) {
    ask_of_unsolved(l, traced, made);
    made.report.unexplained = std::move(l.unsolved);
    made.is_unsolved = true;
    return made;
  }
  made.emitted = texts_of_sizes(l.sizes->emitted());
  judge(l, traced, equal, tried_at, made);
  made.report.valid_sizes = std::move(l.report.valid_sizes);
  std::ranges::move(l.report.inferred, std::back_inserter(made.report.inferred));
  std::ranges::move(l.report.unexplained, std::back_inserter(made.report.unexplained));
  return made;
}

}  // namespace thaw::lifting
