// Each loop over windows becomes one padded, masked batch.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/lift/align/trace_shapes.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {
namespace {

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

}  // namespace

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

}  // namespace thaw::lifting
