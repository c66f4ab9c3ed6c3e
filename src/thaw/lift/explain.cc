// Explaining what differs between traces: every constant as sizes or a table, every loop as a batch of windows.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/steps.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

// What a size was in each trace. Of one that never changed nothing is learned.
Note note_of(const Variable& variable) {
  std::vector<std::string> at;
  for (const int64_t value : variable.at) at.push_back(std::to_string(value));
  return {dim::to_string(variable.symbol),
          fmt::format("{}{}", fmt::join(at, ", "), variable.varies() ? "" : ": right at this value, untold at others"),
          at};
}

// Windows of a grid are told by its sides. Windows of a list are told by their size, and by the tensor that is cut.
bool fit_lengths(WindowLoops& windows, Lifting& lifting, std::string& reason) {
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
  std::vector<const ir::Tensor*> tensors;
  for (const ir::Tensor& list : lists) tensors.push_back(&list);
  windows.fit = fit_table(tensors, *lifting.context, reason);
  if (windows.fit) lifting.holdout->compare(tensors, *windows.fit);
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
    if (!fit_lengths(fresh, lifting, reason)) {
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

}  // namespace

void find_sizes(Lifting& l) {
  l.variables = find_variables(l.traces, l.options.added, l.scope);
  l.tensor_sizes = sizes_of_tensors(l.traces, l.variables, l.scope);
  l.solver.emplace(l.variables, &l.choices, &l.tensor_sizes);
  l.context.emplace(TableContext{l.variables, *l.solver});
  l.holdout.emplace(l.traces, l.variables, l.tensor_sizes);
  for (const Variable& v : l.variables) l.report.variables.push_back(note_of(v));
}

void align_traces(Lifting& l) {
  for (Trace& trace : l.traces) rewrite::remove_unused(*trace.model);
  l.alignment = align(l.traces);
  for (const std::string& clause : l.alignment.unaligned)
    l.report.unexplained.push_back({clause, "only constants and loops over windows are lifted"});
}

void fit_tables(Lifting& l) {
  for (const Difference& difference : l.alignment.differences) {
    if (l.options.keep_static.contains(difference.value->name())) continue;
    std::string reason;
    const auto known = std::find_if(l.tables.begin(), l.tables.end(), [&](const FittedTable& table) {
      return same_tables(table.readers.front()->tensors, difference.tensors);
    });
    if (known != l.tables.end()) {
      l.report.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
      known->readers.push_back(&difference);
    } else if (auto fit = fit_table(difference.tensors, *l.context, reason)) {
      l.report.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
      l.holdout->compare(difference.tensors, *fit);
      l.tables.push_back({{&difference}, std::move(*fit)});
    } else {
      l.report.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
    }
  }
}

void batch_windows(Lifting& l) {
  if (l.alignment.loops.empty()) return;
  const TraceShapes shapes(l.traces, l.variables, l.alignment);
  for (const Loop& loop : l.alignment.loops) batch_loop(loop, shapes, l);
}

void compare_holdout(Lifting& l) {
  for (auto& [where, message] : l.holdout->notes()) l.report.holdout.push_back({where, message});
}

}  // namespace thaw::lifting
