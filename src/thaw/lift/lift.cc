#include "thaw/lift/lift.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/align/constant_outputs.h"
#include "thaw/lift/align/cut_windows.h"
#include "thaw/lift/align/diagonal_blocks.h"
#include "thaw/lift/align/even_out.h"
#include "thaw/lift/align/pools.h"
#include "thaw/lift/align/raise_opset.h"
#include "thaw/lift/aside.h"
#include "thaw/lift/backtrack.h"
#include "thaw/lift/constant_counts.h"
#include "thaw/lift/index_limits.h"
#include "thaw/lift/no_ops.h"
#include "thaw/lift/obligations.h"
#include "thaw/lift/other_cuts.h"
#include "thaw/lift/proof.h"
#include "thaw/lift/recurrence/roll.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/solved_places.h"
#include "thaw/lift/steady_areas.h"
#include "thaw/lift/steady_elements.h"
#include "thaw/lift/steady_extremes.h"
#include "thaw/lift/steps.h"
#include "thaw/lift/undecided.h"
#include "thaw/lift/unseen_sizes.h"
#include "thaw/lift/untold_pads.h"
#include "thaw/lift/written_out.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/remove_unused.h"

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

// What comes back is what the exporter took out.
void require_new_inputs(const Trace& trace, const LiftOptions& options) {
  for (const AddedInput& added : options.added) {
    const ir::Value* known = trace.model->graph->find(added.name);
    if (!known) continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = known->is_input() ? fmt::format("the model has an input '{}' already", added.name)
                                           : fmt::format("'{}' is the name of a value inside the model", added.name),
                 .where = trace.name,
                 .expected = "with --add-input, an input that the exporter took out",
                 .next = known->is_input() ? "leave --add-input out" : "give the input another name"});
  }
}

// What repeats and stays as it is may be why traces do not align.
void require_alignment(const Rolled& rolled, const std::vector<Trace>& traces) {
  if (rolled.left.empty()) return;
  try {
    align(traces);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.what += fmt::format("; what repeats in them becomes no Scan of a recurrence: {}", rolled.left.front());
    throw Error(error.code(), std::move(parts));
  }
}

// What the lifted model's sizes are known for; found of it as it was written.
Domain domain_of(Lifting& l, const std::vector<EqualSides>& equal) {
  Domain domain;
  const std::vector<dim::Dim>& emitted = l.sizes->emitted();
  add_equal_sides(domain, equal, emitted);
  add_equal_sides(domain, equal, sizes_behind_constant_counts(l));
  for (const Variable& v : l.variables) {
    if (v.kind != Variable::Kind::kValue || v.varies()) continue;
    if (l.sizes->reads_values_of(l.model().graph->find(v.input))) domain.fixed.push_back(&v);
  }
  add_roundings(domain, emitted, l.solver->guessed(), l.told, l.variables);
  add_limits(domain, l.limits);
  add_limits(domain, index_limits(l.model(), l.variables, l.scope));
  std::vector<int64_t> loops;
  for (const WindowLoops& each : l.windows)
    if (each.size) loops.push_back(*each.size);
  std::vector<dim::Dim> filled = amounts_of_windows(l);
  std::ranges::copy(l.solver->guessed(), std::back_inserter(filled));
  add_limits(domain, window_limits(emitted, filled, loops, l.variables));
  for (const FittedTable& table : l.tables) add_limits(domain, length_limits(table.fit.growing, l.variables));
  add_limits(domain, sign_limits(l));
  for (const FittedTable& table : l.tables) add_periods(domain, table.fit.repeated, l.variables);
  for (const FittedTable& table : l.tables)
    for (const dim::Dim length : table.fit.growing)
      for (Undecided& part : steady_parts(length, l.variables, l.solver->unseen()))
        add_undecided(domain, std::move(part));
  for (Undecided& part : steady_pieces(l)) add_undecided(domain, std::move(part));
  for (const Undecided& each : l.undecided) add_undecided(domain, each);
  if (l.options.keep_static.empty())
    for (const SteadySize& size : written_out(l.steady_sizes))
      add_undecided(domain, {size.size, dim::Dim(size.at), ""});
  add_whole_divisions(domain, l.told, l.variables);
  add_whole_sizes(domain, l.sizes_at_no_ops);
  for (const auto& [wanted, choice] : l.choices.by_values)
    for (const Agreement& agreement : choice.guarded) {
      const auto chosen = dim::try_parse(agreement.chosen, l.scope), other = dim::try_parse(agreement.other, l.scope);
      const auto size = dim::try_parse(agreement.size, l.scope);
      if (agreement.modulus > 0 && size)
        add_congruence(domain, *size, agreement.modulus, agreement.remainder);
      else if (chosen && other)
        domain.undecided.push_back({*chosen, *other, agreement.telling});
    }
  for (const auto& [place, choice] : l.choices.by_place)
    for (const std::string& other : choice.others) {
      const auto taken = dim::try_parse(choice.taken, l.scope), else_taken = dim::try_parse(other, l.scope);
      if (taken && else_taken) add_undecided(domain, {*taken, *else_taken, ""});
    }
  add_steady_elements(domain, l);
  add_steady_extremes(domain, l);
  add_rounded_numbers(domain, l.numbers_of_sizes, l.variables);
  add_extremes(domain, l.numbers_of_sizes, l.variables);
  std::vector<dim::Dim> known = emitted;
  for (const auto& [value, shape] : l.tensor_shapes) std::ranges::copy(shape, std::back_inserter(known));
  add_extremes(domain, l.solver->guessed(), known, l.variables);
  if (!keeps_no_ops(l.model())) widen_to_common_divisors(domain, l.told, l.variables);
  return domain;
}

// The integers that leave room for chance, with some at places alone, and what the nodes need of them at sizes that no trace has, at some
// more among these.
std::shared_ptr<const Conditions> conditions_at(const Lifting& l, ir::Model& model,
                                                const std::unordered_set<const ir::Node*>& traced,
                                                std::vector<std::vector<int64_t>> more,
                                                std::vector<Unknown> at_places = {}) {
  constexpr size_t kMostOthers = 8;
  if (l.variables.empty()) return nullptr;
  std::unordered_set<const dim::Expr*> written;
  for (const auto& [name, size] : l.written) written.insert(size.expr());
  std::vector<Unknown> unknowns;
  for (const auto& [wanted, symbol] : l.solver->unsolved())
    unknowns.push_back({.wanted = wanted, .places = {{{}, symbol}}, .rule = Rule::kMadeUp, .is_solved = false});
  for (const auto& [wanted, all] : l.solver->taken()) {
    Unknown unknown{.wanted = wanted, .places = {}};
    for (const Taken& taken : all) {
      if (taken.rule <= Rule::kVariable || !written.contains(taken.size.expr())) continue;
      const auto is_it = [&](const Unknown::Place& place) { return dim::same(place.taken, taken.size); };
      if (std::ranges::none_of(unknown.places, is_it)) unknown.places.push_back({{}, taken.size});
      unknown.rule = std::max(unknown.rule, taken.rule);
      for (const Solution& other : l.solver->solutions(wanted, kMostOthers, taken.around))
        if (!dim::same(other.dim, taken.size)) unknown.others.push_back(other.dim);
    }
    if (!unknown.places.empty()) unknowns.push_back(std::move(unknown));
  }
  std::ranges::move(at_places, std::back_inserter(unknowns));
  std::vector<std::vector<int64_t>> unseen = unseen_sizes(l.variables);
  std::ranges::move(more, std::back_inserter(unseen));
  return std::make_shared<const Conditions>(conditions_of(model, input_shapes(l), l.written, std::move(unknowns),
                                                          l.variables, l.scope_of_sizes, traced, unseen));
}

// Those that no trace varies, and that may be why the nodes do not agree on this one.
std::vector<Unknown> steady_before(const Lifting& l, const ir::Node* contradicted) {
  if (!contradicted || !l.options.keep_static.empty()) return {};
  return steady_integers(*contradicted, l.alignment, l.tensor_shapes, l.windows_of_pads, l.variables);
}

// Of each, at which places the nodes let the other stand alone.
void note_places(std::vector<OpenChoice>& open, const Conditions& conditions) {
  const std::vector<Unknown>& unknowns = conditions.unknowns;
  Retaken questions;
  std::vector<OpenChoice*> asks;
  for (OpenChoice& each : open)
    for (size_t i = 0; i < unknowns.size() && !each.formulas.other.empty(); ++i) {
      if (!unknowns[i].is_at_places() || unknowns[i].wanted != each.wanted) continue;
      if (dim::to_string(unknowns[i].places.front().taken) != each.formulas.chosen) continue;
      questions.emplace_back(i, each.other);
      asks.push_back(&each);
    }
  const std::vector<bool> stand = stand_alone(conditions, questions);
  for (size_t k = 0; k < questions.size(); ++k)
    if (stand[k]) asks[k]->alone.push_back(unknowns[questions[k].first].stands_at.front());
}

// The first node that cannot run at these sizes.
const ir::Node* broken_node(Lifting& l, const std::vector<int64_t>& sizes,
                            const std::unordered_set<const ir::Node*>& traced) {
  return find_contradictions(l.model(), l.variables, traced, {sizes}).first_node;
}

// Narrows the domain until the proof breaks nothing in it, and says what was proven; what breaks all the same is not explained. Sizes at
// which it does.
std::optional<std::vector<int64_t>> prove(Lifting& l, Domain& domain,
                                          const std::unordered_set<const ir::Node*>& traced) {
  constexpr size_t kMostRounds = 6;
  std::vector<std::vector<int64_t>> broken_at;
  while (true) {
    const DomainProof proof = prove_domain(l.model(), domain, l.variables, traced);
    if (proof.broken_at.empty()) {
      if (proof.statements > 0)
        l.report.inferred.push_back(
            {proof.sizes,
             fmt::format("{} of {} size conditions proven, none violated", proof.proven, proof.statements),
             {}});
      return std::nullopt;
    }
    const bool is_new = std::ranges::find(broken_at, proof.broken_at) == broken_at.end();
    broken_at.push_back(proof.broken_at);
    if (is_new && broken_at.size() < kMostRounds) {
      add_contradicted(domain, l.model(), l.variables, broken_at);
      continue;
    }
    if (l.choices.holds_needs && broken_at.size() < kMostRounds) {
      std::vector<std::vector<int64_t>> others = unseen_sizes(l.variables);
      std::erase_if(others,
                    [&](const std::vector<int64_t>& each) { return !domain.has(assignment_at(l.variables, each)); });
      auto need = others.empty()
                      ? std::nullopt
                      : need_at(l.model(), input_shapes(l), l.variables, l.scope, traced, proof.broken_at, others);
      if (need) {
        add_undecided(domain, std::move(*need));
        continue;
      }
    }
    l.report.unexplained.push_back(
        {proof.broken,
         "the model cannot run at this size, which lies between the traces; add a trace there, or leave a trace out",
         {}});
    return proof.broken_at;
  }
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

// found: grows. tried_at: where given, only what the nodes say of it is asked, at these sizes too, in the domain that it would have.
Attempt lift_with(std::vector<Trace>& traces, const LiftOptions& options, Choices choices, Found& found,
                  const std::vector<std::vector<int64_t>>* tried_at) {
  Attempt made{.choices = std::move(choices)};
  Lifting lifting(traces, options, made.choices, found, tried_at != nullptr);
  try {
    for (const Step step : kExplain) {
      step(lifting);
      require_budget(traces);
    }
  } catch (const Error& error) {
    if (const auto squares = over_budget_by_squares(error, traces, lifting.variables)) throw *squares;
    throw;
  }
  if (!lifting.steady_loops.empty()) {
    found.plain_loops.merge(lifting.steady_loops);
    return lift_with(traces, options, std::move(made.choices), found, tried_at);
  }
  constexpr int kMostCutRounds = 16;
  if (lifting.report.unexplained.empty() && found.cut_rounds < kMostCutRounds && cut_other_axes(lifting)) {
    ++found.cut_rounds;
    return lift_with(traces, options, std::move(made.choices), found, tried_at);
  }
  made.report = std::move(lifting.report);
  made.report.departs = std::ranges::any_of(lifting.tables, [](const FittedTable& table) { return table.fit.departs; });
  made.cuts = lifting.solver->told_cuts();
  if (lifting.holdout) made.unconfirmed = lifting.holdout->nothing_confirmed();
  if (!made.is_whole()) return made;
  if (!tried_at) made.corrected = readers_of_corrected(lifting);
  ir::Model& model = lifting.model();
  std::unordered_set<const ir::Node*> traced;
  for (const ir::Node* node : model.graph->nodes()) traced.insert(node);
  const std::vector<EqualSides> equal = equal_sides(traces, lifting.variables);
  made.edit = std::make_unique<ir::Transaction>(model);
  drop_stated_domain(model);
  for (const Step step : kWrite) step(lifting);
  if (!lifting.unsolved.empty()) {
    made.conditions = conditions_at(lifting, model, traced, {});
    made.report.unexplained = std::move(lifting.unsolved);
    made.is_unsolved = true;
    return made;
  }
  made.emitted = texts_of_sizes(lifting.sizes->emitted());
  // What is kept static contradicts other sizes, as it is asked to.
  if (options.keep_static.empty()) {
    made.contradictions = find_contradictions(model, lifting.variables, traced);
    if (tried_at) {
      const Contradictions there = find_contradictions(model, lifting.variables, traced, *tried_at);
      made.broken_where_tried = there.broken + there.unmade;
    }
    if (traces.size() == 2)
      made.beyond = find_contradictions(model, lifting.variables, traced, sizes_beyond(lifting.variables));
  }
  require_budget(traces);
  if (made.contradictions.broken == 0) {
    Domain domain = domain_of(lifting, equal);
    add_contradicted(domain, model, lifting.variables, {});
    for (Undecided& fill :
         untold_pads(model, input_shapes(lifting), lifting.variables, lifting.scope, lifting.solver->unseen()))
      add_undecided(domain, std::move(fill));
    if (options.keep_static.empty()) made.broken_at = prove(lifting, domain, traced);
    if (tried_at) {
      made.of_any_step = find_contradictions(model, lifting.variables, traced, sizes_of_any_step(lifting.variables));
      std::ranges::move(lifting.report.unexplained, std::back_inserter(made.report.unexplained));
      return made;
    }
    if (options.keep_static.empty()) {
      const auto held = hold_steady(domain, lifting.steady_sizes, model, lifting.variables, traced);
      made.holds_steady = held.has_value();
      if (!made.broken_at && !held)
        for (Undecided& need : needs_outside(model, input_shapes(lifting), lifting.variables, lifting.scope, traced,
                                             domain, unseen_sizes(lifting.variables)))
          add_undecided(domain, std::move(need));
      for (const FittedTable& table : lifting.tables) lifting.solver->note_written(table.written_by, table.fit.growing);
      made.open =
          open_choices(*lifting.solver, made.emitted, lifting.variables, domain,
                       [&](const std::vector<int64_t>& sizes) { return runs_at(model, lifting.variables, {sizes}); });
      if (const auto& broken_at = made.broken_at ? made.broken_at : held) {
        const ir::Node* broken = broken_node(lifting, *broken_at, traced);
        made.conditions = conditions_at(lifting, model, traced, {*broken_at}, steady_before(lifting, broken));
        if (auto places = places_before(lifting, broken); !places.empty())
          made.apart = conditions_at(lifting, model, traced, {*broken_at}, std::move(places));
      } else if (!made.open.empty()) {
        std::vector<std::vector<int64_t>> more = sizes_of_any_step(lifting.variables);
        for (const OpenChoice& each : made.open)
          if (std::ranges::find(more, each.telling.front()) == more.end()) more.push_back(each.telling.front());
        made.conditions = conditions_at(lifting, model, traced, more);
        if (auto places = places_of(lifting, made.open); !places.empty())
          note_places(made.open, *conditions_at(lifting, model, traced, more, std::move(places)));
      }
      if (!made.open.empty() || !made.choices.take_first())
        made.of_any_step = find_contradictions(model, lifting.variables, traced, sizes_of_any_step(lifting.variables));
    }
    if (options.keep_static.empty()) domain.followed = followed_by_need(model, lifting.variables, traced);
    for (const auto& [size, of] : domain.followed)
      made.followed.push_back({dim::to_string(size), dim::to_string(of), {}});
    add_equal_sides(domain, equal, {});
    guard(lifting, domain);
    made.report.valid_sizes = std::move(lifting.report.valid_sizes);
    std::ranges::move(lifting.report.inferred, std::back_inserter(made.report.inferred));
    std::ranges::move(lifting.report.unexplained, std::back_inserter(made.report.unexplained));
  } else if (options.keep_static.empty()) {
    const ir::Node* broken = made.contradictions.first_node;
    made.conditions = conditions_at(lifting, model, traced, {}, steady_before(lifting, broken));
    if (auto places = places_before(lifting, broken); !places.empty())
      made.apart = conditions_at(lifting, model, traced, {}, std::move(places));
  }
  return made;
}

// Where not all is explained: a trace that contradicts itself is why, as some that an exporter writes do.
void note_broken_trace(const Trace& trace, LiftReport& report) {
  if (report.unexplained.empty()) return;
  dim::Scope scope;
  const infer::Result facts = infer::infer(*trace.model, scope);
  if (facts.problems().empty()) return;
  const infer::Problem& first = facts.problems().front();
  report.unexplained.insert(report.unexplained.begin(),
                            {first.node ? first.node->describe() : trace.name,
                             fmt::format("{} contradicts itself there, and ONNX Runtime may not take it: {}; export it "
                                         "again, with another exporter or other options",
                                         trace.name, first.message)});
}

}  // namespace

LiftReport lift(std::vector<Trace>& traces, const LiftOptions& options) {
  std::vector<std::string> given;
  for (const Trace& trace : traces) given.push_back(trace.name);
  if (traces.size() < 2) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "one trace does not determine how constants grow",
                                              .where = "thaw lift",
                                              .expected = "two or more traces of one model at different sizes",
                                              .next = "export the model at another size too"});
  }
  for (const Trace& trace : traces) {
    ops::require_arity(*trace.model);
    ir::tell_names_apart(*trace.model);
    require_new_inputs(trace, options);
  }
  for (Trace& trace : traces) rewrite::remove_unused(*trace.model);
  std::vector<Note> raised = raise_opset_of_sizes(std::span(traces));
  read_constant_outputs(traces);
  write_pools_alike(traces);
  end_windows_with_axes(traces);
  for (Trace& trace : traces) cut_operands_of_blocks(*trace.model);
  const Rolled rolled = aligned(traces) ? Rolled() : roll_recurrences(traces);
  const Aside aside(traces, rolled.aside);
  std::vector<Note> areas = steady_areas(traces);
  const auto lift_even = [&] {
    read_constant_outputs(traces);  // those that were folded to have the same nodes
    require_alignment(rolled, traces);
    // The steps above, with the next solutions where the simplest contradict each other.
    Found found;
    const auto attempt_with = [&](Choices choices) {
      return lift_with(traces, options, std::move(choices), found, nullptr);
    };
    const auto try_with = [&](Choices choices, const std::vector<std::vector<int64_t>>& at) {
      const auto is_half_spent = [](const Trace& trace) { return trace.model->budget->is_half_spent(); };
      if (std::ranges::any_of(traces, is_half_spent)) return std::optional<Attempt>();
      return std::optional(lift_with(traces, options, std::move(choices), found, &at));
    };
    Attempt best = backtrack(attempt_with);
    // What is left open may be told by how other sides are cut.
    const bool is_close = std::ranges::any_of(best.open, &OpenChoice::is_close);
    if (traces.size() > 2 && is_close && !best.cuts.empty()) {
      found.cuts = std::move(best.cuts);
      best.edit.reset();
      best = backtrack(attempt_with);
    }
    best = require_decided(std::move(best), attempt_with, try_with);
    if (best.is_whole() && best.unconfirmed) best.report.unexplained.push_back(*best.unconfirmed);
    if (best.is_whole()) {
      best.edit->keep();
      for (size_t k = 0; k < traces.size(); ++k) traces[k].corrected = std::move(best.corrected[k]);
      state_followed(*traces.front().model, best.report, best.followed);
    }
    note_broken_trace(traces.back(), best.report);  // the first may hold what was tried
    return best;
  };
  Attempt best = lift_evened(traces, lift_even);
  best.report.lifted.insert(best.report.lifted.begin(), rolled.scans.begin(), rolled.scans.end());
  if (!best.is_whole()) std::ranges::move(areas, std::back_inserter(best.report.unexplained));
  std::ranges::move(raised, std::back_inserter(best.report.inferred));
  for (const size_t k : rolled.aside)
    best.report.holdout.push_back({given[k], "too short to separate one step from the next: it is only compared with"});
  return std::move(best.report);
}

}  // namespace thaw::lifting
