#include "thaw/lift/lift.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/traces.h"

namespace thaw {

LiftResult lift(const std::vector<LiftTrace>& given, const LiftOptions& options) {
  std::vector<lifting::Trace> traces;
  for (const LiftTrace& trace : given)
    traces.push_back({.name = trace.model.filename().string(), .model = ir::load(trace.model), .values = trace.values});
  LiftResult result{lifting::lift(traces, options), {}};
  LiftReport& report = result.report;
  if (!report.unexplained.empty()) return result;
  if (options.check) report.checks = confirm::compare_with_traces(*traces.front().model, traces);
  if (confirm::all_agree(report.checks)) result.model = ModelAccess::make(std::move(traces.front().model));
  return result;
}

}  // namespace thaw
