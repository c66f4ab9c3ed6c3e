#include "thaw/lift/lift.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/align/constant_outputs.h"
#include "thaw/lift/align/cut_windows.h"
#include "thaw/lift/align/diagonal_blocks.h"
#include "thaw/lift/align/even_out.h"
#include "thaw/lift/align/pools.h"
#include "thaw/lift/align/raise_opset.h"
#include "thaw/lift/aside.h"
#include "thaw/lift/recurrence/roll.h"
#include "thaw/lift/steps.h"
#include "thaw/lift/unknowns/backtrack.h"
#include "thaw/lift/unknowns/undecided.h"
#include "thaw/lift/untold/steady_areas.h"
#include "thaw/lift/with_choices.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

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
