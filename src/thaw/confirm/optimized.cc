#include "thaw/confirm/optimized.h"

#include <memory>
#include <utility>

#include "thaw/check/check.h"
#include "thaw/confirm/fixed.h"
#include "thaw/optimize/optimize.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/run/relax.h"

namespace thaw::confirm {
namespace {

std::vector<Finding> untaken_by_directml(const ir::Model& model) {
  CheckOptions options;
  options.only = {"THAW030", "THAW031", "THAW032", "THAW033", "THAW034", "THAW035"};
  options.target = "directml";
  return checking::check(model, options).findings;
}

}  // namespace

OptimizeReport optimize(ir::Model& model, const ir::Model& original, const OptimizeOptions& options) {
  const optimizing::Weight before = optimizing::weigh(*original.graph);
  OptimizeReport report;
  rewrite::Changes changes = optimizing::optimize(model, options);
  report.changed = std::move(changes.made);
  report.replaceable_weights = rewrite::count_replaceable(model);
  report.left = std::move(changes.left);
  const optimizing::Weight after = optimizing::weigh(*model.graph);
  report.nodes_before = before.nodes;
  report.nodes_after = after.nodes;
  report.weights_before = before.bytes;
  report.weights_after = after.bytes;
  if (options.target == OptimizeTarget::kDirectml) report.untaken = untaken_by_directml(model);
  if (!report.modified() || !options.check) return report;
  // What is declared inside may be wrong, in the original as in the result: it is the nodes that are compared.
  const std::unique_ptr<ir::Model> opened = ir::clone(model);
  run::drop_declared_sizes(*opened);
  for (size_t i = 0; i < model.graph->inputs().size(); ++i)
    opened->graph->inputs()[i]->set_type(model.graph->inputs()[i]->type);
  // Fused operators round otherwise: what is reckoned from numbers of about 1 is known to 1e-7, as a sigmoid that gives
  // next to nothing is.
  Closeness closeness;
  if (options.level == OptimizeLevel::kFuse) {
    closeness = closeness_of(original);
    closeness.least_scale = 1e-3;
  }
  FixCheck check = compare_with_original(*opened, original, false, options.feeds, closeness);
  report.checks = std::move(check.runs);
  report.uncompared = std::move(check.uncompared);
  return report;
}

}  // namespace thaw::confirm
