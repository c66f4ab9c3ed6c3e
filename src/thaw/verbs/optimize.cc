#include "thaw/optimize/optimize.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/check/check.h"
#include "thaw/infer/cost.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/run/relax.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/compared.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"

namespace thaw {
namespace {

std::vector<Finding> untaken_by_directml(const ir::Model& model) {
  CheckOptions options;
  options.only = {"THAW030", "THAW031", "THAW032", "THAW033", "THAW034", "THAW035"};
  options.target = "directml";
  return checking::check(model, options).findings;
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
  // Fused operators round otherwise: what is reckoned from numbers of about 1 is known to 1e-7, as a sigmoid that gives
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

// Where a result differs from the model, the few fusions without which it does not are looked for by halves, and left out.
// Nothing where it differs without any.
std::optional<std::pair<Passes, Attempt>> leave_out_fusions(const Attempt& differing, const ir::Model& original,
                                                            const OptimizeOptions& options) {
  Passes without;
  std::ranges::copy_if(differing.changes.passes, std::back_inserter(without), optimizing::is_fusion);
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

std::string first_difference(const confirm::FixCheck& check) {
  for (const RunCheck& run : check.runs)
    if (!run.agrees) return fmt::format("{}, at {}", run.message, run.name);
  return {};
}

}  // namespace

bool OptimizeReport::accepted() const {
  return confirm::all_agree(checks) && (!is_checked || !modified() || !checks.empty());
}

OptimizeReport optimize(Model& model, const OptimizeOptions& options, const Output& output) {
  const ir::Model& original = ModelAccess::begin(model);
  verbs::require_output(original, output);
  verbs::require_renames(*ModelAccess::owner(model), output);
  OptimizeOptions how = options;
  how.feeds = verbs::with_files(options.feeds, original);
  const optimizing::Weight before = optimizing::weigh(*original.graph);
  OptimizeReport report{.model = original.path.string(), .target = options.target, .is_checked = options.check};
  if (options.count_moved) report.moved_before = infer::bytes_moved(original);
  Attempt made = attempt_without({}, original, how);
  if (!confirm::all_agree(made.check.runs)) {
    if (auto without = leave_out_fusions(made, original, how)) {
      for (const std::string& pass : without->first)
        report.left_out.push_back(
            {.kind = pass, .place = "the model", .part = {}, .replaced = {}, .why = first_difference(made.check)});
      made = std::move(without->second);
    }
  }
  ir::Model& optimized = *made.model;
  report.changed = std::move(made.changes.made);
  report.left = std::move(made.changes.left);
  report.passes = std::move(made.changes.passes);
  report.checks = std::move(made.check.runs);
  report.uncompared = std::move(made.check.uncompared);
  report.replaceable_weights = rewrite::count_replaceable(optimized);
  const optimizing::Weight after = optimizing::weigh(*optimized.graph);
  report.nodes_before = before.nodes;
  report.nodes_after = after.nodes;
  report.weights_before = before.bytes;
  report.weights_after = after.bytes;
  if (options.count_moved) report.moved_after = infer::bytes_moved(optimized);
  if (options.target == OptimizeTarget::kDirectml) report.untaken = untaken_by_directml(optimized);
  if (!report.accepted()) return report;
  report.files = verbs::publish(optimized, output);
  ModelAccess::owner(model) = std::move(made.model);
  return report;
}

}  // namespace thaw
