#include "thaw/optimize/optimize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/call_clock.h"
#include "thaw/infer/cost.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/run/relax.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/compared.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/for_target.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

// Whether any node is of another domain than the target takes, or of none of ONNX's operators: without one there is nothing to
// look at but for a target that has kernels.
bool may_be_unsupported(const ir::Graph& graph, const ops::Target& target, int64_t opset) {
  return std::ranges::any_of(graph.nodes(), [&](const ir::Node* node) {
    if (!target.domain(node->domain()) || !ir::find_schema(node->domain(), node->op_type(), opset)) return true;
    return std::ranges::any_of(node->subgraphs(),
                               [&](const ir::Graph* inner) { return may_be_unsupported(*inner, target, opset); });
  });
}

// What `check --target` finds.
std::vector<Finding> unsupported_by(const OptimizeOptions& options, const ir::Model& model) {
  const ops::Target& taken = optimizing::backend_of(options);
  const ops::TargetDomain* standard = taken.domain("");
  if (standard->kernels.empty() && !may_be_unsupported(*model.graph, taken, model.opset("").value_or(1))) return {};
  return verbs::findings_of_target(model, taken.name);
}

// ONNX Runtime takes activations in 8 bits where a product reads a weight in blocks, so that the original is not exact.
constexpr double kAgreesIn8Bits = 1e-2;

bool reads_blocks(const ir::Model& model) {
  return std::ranges::any_of(model.graph->nodes(),
                             [](const ir::Node* node) { return node->attribute_int("block_size", 0) > 0; });
}

// The result of some of the passes, beside the model.
struct Attempt {
  std::unique_ptr<ir::Model> model;
  rewrite::Changes changes;
  confirm::FixCheck check;

  bool agrees() const { return confirm::all_agree(check.runs) && (!changes.modified() || !check.runs.empty()); }
};

confirm::FixCheck check_result(const ir::Model& model, const ir::Model& original, const OptimizeOptions& options) {
  // What is declared inside may be wrong, in the original as in the result: it is the nodes that are compared.
  const std::unique_ptr<ir::Model> opened = ir::clone(model);
  run::drop_declared_sizes(*opened);
  for (size_t i = 0; i < model.graph->inputs().size(); ++i)
    opened->graph->inputs()[i]->set_type(model.graph->inputs()[i]->type);
  // Fused operators round otherwise: what is computed from numbers of about 1 is known to 1e-7, as a sigmoid that evaluates to
  // next to nothing is.
  confirm::Closeness closeness;
  if (options.level == OptimizeLevel::kFuse) {
    closeness = confirm::closeness_of(original);
    closeness.least_scale = 1e-3;
  }
  if (options.target == OptimizeTarget::kDirectml && reads_blocks(original)) closeness.share = kAgreesIn8Bits;
  return verbs::compare_with_original(*opened, original, false, options.feeds, closeness);
}

using Passes = std::vector<std::string>;

Attempt attempt_without(const Passes& passes, const ir::Model& original, OptimizeOptions options) {
  options.skip.insert(options.skip.end(), passes.begin(), passes.end());
  Attempt attempt{ir::clone(original), {}, {}};
  if (!options.constant_weights) rewrite::vary_defaults(*attempt.model);
  attempt.changes = optimizing::optimize(*attempt.model, options);
  if (options.check && attempt.changes.modified()) attempt.check = check_result(*attempt.model, original, options);
  return attempt;
}

// The few passes of some without which a result agrees, looked for by halves. Nothing where it does not without any of them.
std::optional<std::pair<Passes, Attempt>> leave_out(Passes without, const ir::Model& original,
                                                    const OptimizeOptions& options) {
  if (without.empty()) return std::nullopt;
  Attempt best = attempt_without(without, original, options);
  if (!best.agrees()) return std::nullopt;
  while (without.size() > 1) {
    const auto middle = without.begin() + static_cast<ptrdiff_t>(without.size() / 2);
    bool is_narrowed = false;
    for (Passes half : {Passes(without.begin(), middle), Passes(middle, without.end())}) {
      Attempt next = attempt_without(half, original, options);
      if (!next.agrees()) continue;
      best = std::move(next);
      without = std::move(half);
      is_narrowed = true;
      break;
    }
    if (!is_narrowed) break;
  }
  return std::pair(std::move(without), std::move(best));
}

// Whether the result does not load or run, where the model does.
bool is_refused(const confirm::FixCheck& check) {
  return std::ranges::any_of(check.runs,
                             [](const RunCheck& run) { return !run.agrees && std::isinf(run.max_abs_diff); });
}

// Numbers may differ by fusions only, which round otherwise; what is refused may be any pass's fault.
std::optional<std::pair<Passes, Attempt>> leave_out_faulty(const Attempt& differing, const ir::Model& original,
                                                           const OptimizeOptions& options) {
  Passes fusions;
  std::ranges::copy_if(differing.changes.passes, std::back_inserter(fusions), optimizing::is_fusion);
  if (auto found = leave_out(std::move(fusions), original, options)) return found;
  if (!is_refused(differing.check)) return std::nullopt;
  return leave_out(differing.changes.passes, original, options);
}

// Without the passes that fail, each of which the report names.
Attempt attempt_without_failing(const ir::Model& original, OptimizeOptions& options, OptimizeReport& report) {
  for (;;) {
    try {
      return attempt_without({}, original, options);
    } catch (const rewrite::PassFailed& failed) {
      if (std::ranges::count(options.skip, failed.pass) > 0) throw;
      options.skip.push_back(failed.pass);
      report.rejected_passes.push_back(
          {.kind = failed.pass, .location = "the model", .part = {}, .replaced = {}, .why = failed.parts().what});
    }
  }
}

std::string first_difference(const confirm::FixCheck& check) {
  for (const RunCheck& run : check.runs)
    if (!run.agrees) return fmt::format("{}, at {}", run.message, run.name);
  return {};
}

}  // namespace

bool OptimizeReport::accepted() const {
  return confirm::all_agree(checks) && (!is_checked || !modified() || !checks.empty()) && !load_check.has_failed();
}

bool OptimizeReport::fits_target() const {
  return std::ranges::none_of(unsupported, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

OptimizeReport optimize(Model& model, const OptimizeOptions& options, const Output& output) {
  const CallClock clock;
  const ir::Model& original = ModelAccess::begin(model);
  verbs::require_output(original, output);
  verbs::require_renames(*ModelAccess::owner(model), output);
  OptimizeOptions how = options;
  how.feeds = verbs::with_files(options.feeds, original);
  const optimizing::Weight before = optimizing::weigh(*original.graph);
  optimizing::backend_of(options);  // before anything is done
  OptimizeReport report{.model = original.path.string(),
                        .target = options.target,
                        .backend = options.backend,
                        .is_checked = options.check};
  if (options.count_moved) report.moved_before = infer::bytes_moved(original);
  Attempt made = attempt_without_failing(original, how, report);
  if (!confirm::all_agree(made.check.runs)) {
    if (auto without = leave_out_faulty(made, original, how)) {
      for (const std::string& pass : without->first)
        report.rejected_passes.push_back({.kind = pass,
                                          .location = "the model",
                                          .part = {},
                                          .replaced = {},
                                          .why = "with it, " + first_difference(made.check)});
      made = std::move(without->second);
    }
  }
  ir::Model& optimized = *made.model;
  report.changed = std::move(made.changes.made);
  report.missed = std::move(made.changes.left);
  report.passes = std::move(made.changes.passes);
  report.checks = std::move(made.check.runs);
  report.not_compared = std::move(made.check.not_compared);
  report.proof = verbs::prove(optimized, original, report.checks);
  report.overridable_initializers = rewrite::count_replaceable(optimized);
  const optimizing::Weight after = optimizing::weigh(*optimized.graph);
  report.nodes_before = before.nodes;
  report.nodes_after = after.nodes;
  report.weight_bytes_before = before.bytes;
  report.weight_bytes_after = after.bytes;
  if (options.count_moved) report.moved_after = infer::bytes_moved(optimized);
  report.unsupported = unsupported_by(options, optimized);
  if (!report.accepted()) return report;
  if (report.modified()) verbs::keep_proof(optimized, original, report.proof);
  verbs::publish(
      optimized, output,
      {.original = &original, .is_checked = options.check, .fed = made.check.fed ? &*made.check.fed : nullptr})
      .tell(report);
  if (!report.accepted()) return report;
  ModelAccess::owner(model) = std::move(made.model);
  return report;
}

}  // namespace thaw
