#include "thaw/fix/fix.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/check.h"
#include "thaw/check/check.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/infer/size_names.h"
#include "thaw/lift/onetrace/thaw_trace.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/rename_sizes.h"
#include "thaw/run/compare.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/compared.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

// The rules of frozen sizes; the others fix what is declared, or write the same sizes another way.
bool rewrites_sizes(const Change& change) { return change.kind.starts_with("THAW01"); }

void list_renames(const SizeRenames& renames, FixReport& report) {
  for (const auto& [from, to] : renames)
    report.changed.push_back({.kind = "rename a size", .location = "size '" + from + "'", .replaced = {{from, to}}});
}

// The errors of `check` in the result, that are not reported yet: a location that is left for another rule is.
void list_errors(const ir::Model& fixed, FixReport& report) {
  CheckOptions errors;
  for (const RuleInfo& rule : rules())
    if (rule.severity == Severity::kError) errors.only.emplace_back(rule.code);
  for (const Finding& finding : checking::check(fixed, errors).findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string& location = finding.where.tensor.empty() ? finding.where.node : finding.where.tensor;
    const bool is_reported = std::ranges::any_of(report.remaining, [&](const Change& left) {
      return left.location == location ||
             (!finding.where.node.empty() && left.location.ends_with("'" + finding.where.node + "'"));
    });
    if (!is_reported) report.remaining.push_back({.kind = finding.code, .location = location, .why = finding.message});
  }
}

// A result of which ONNX Runtime says that its types do not fit is not mended, though the model was no better.
void list_refused_types(FixReport& report, const std::string& path) {
  constexpr std::string_view kWords[] = {"Type Error", "TypeInferenceError", "bound to different types"};
  if (report.load_check.status != LoadCheck::Status::kSkipped) return;
  const std::string_view reason = report.load_check.message;
  if (std::ranges::any_of(kWords, [&](std::string_view words) { return reason.find(words) != std::string_view::npos; }))
    report.remaining.push_back({.kind = "THAW021", .location = path, .why = report.load_check.message});
}

using SizesAt = std::map<std::string, std::vector<int64_t>>;

// Axes of inputs, however they are spelled, by the names that inference goes by.
SizesAt sizes_by_name(const ir::Model& model, const SizesAt& at) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const dim::SizeNames names = infer::size_names(model, facts, scope);
  SizesAt named;
  for (const auto& [name, values] : at) {
    const auto found = names.find(name);
    const bool is_axis = found && found->kind != dim::SizeName::Kind::kElement;
    if (named.emplace(is_axis ? found->text : name, values).second) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("'{}' is given twice", name), .where = "--sizes", .expected = "one number for each size"});
  }
  return named;
}

}  // namespace

bool FixReport::accepted() const { return confirm::all_agree(checks) && !load_check.has_failed(); }

bool FixReport::has_remaining_errors() const {
  const std::vector<RuleInfo> known = rules();
  return std::any_of(remaining.begin(), remaining.end(), [&](const Change& change) {
    return std::any_of(known.begin(), known.end(), [&](const RuleInfo& rule) {
      return rule.code == change.kind && rule.severity == Severity::kError;
    });
  });
}

FixReport fix(Model& model, const FixOptions& options, const Output& output) {
  const CallClock clock;
  const ir::Model& original = ModelAccess::begin(model);
  verbs::require_output(original, output);
  const FeedOptions feeds = verbs::with_files(options.feeds, original);
  std::unique_ptr<ir::Model> fixed = ir::clone(original);
  rewrite::Changes changes = fixing::fix(*fixed, options);
  FixReport report{
      .model = original.path.string(), .changed = std::move(changes.made), .remaining = std::move(changes.left)};
  list_errors(*fixed, report);
  report.overridable_initializers = rewrite::count_replaceable(original);
  if (report.modified()) verbs::require_renames(*fixed, output);
  std::optional<Arrays> fed;
  if (report.modified() && options.check) {
    const bool rewritten = std::ranges::any_of(report.changed, rewrites_sizes);
    confirm::FixCheck check = verbs::compare_with_original(*fixed, original, rewritten, feeds);
    report.checks = std::move(check.runs);
    report.not_compared = std::move(check.not_compared);
    report.proof = verbs::prove(*fixed, original, report.checks);
    fed = std::move(check.fed);
  }
  if (!report.accepted()) return report;
  if (report.modified()) verbs::keep_proof(*fixed, original, report.proof);
  // Names come last, as what is freed has its own only then; a model in which nothing else is to do is written for them alone.
  list_renames(output.rename, report);
  if (!report.modified()) return report;
  verbs::publish(*fixed, output, {.original = &original, .is_checked = options.check, .fed = fed ? &*fed : nullptr})
      .tell(report);
  list_refused_types(report, output.path.string());
  if (!report.accepted()) return report;
  ModelAccess::owner(model) = std::move(fixed);
  return report;
}

FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                      const FixReferenceOptions& options, const Output& output) {
  const CallClock clock;
  const ir::Model& trace = ModelAccess::begin(model);
  const std::string path = trace.path.string();
  verbs::require_output(trace, output);
  run::require_tolerance(options.tolerance);
  FixReferenceOptions how = options;
  how.at = sizes_by_name(trace, options.at);
  const Phase phase("looking for expressions that the reference confirms");
  FixReferenceReport report = lifting::onetrace::thaw_trace(ModelAccess::owner(model), reference, how);
  report.model = path;
  if (!report.accepted() || !report.modified()) return report;
  proving::forget_proof(*ModelAccess::owner(model));
  verbs::publish(*ModelAccess::owner(model), output, {}).tell(report);
  return report;
}

}  // namespace thaw
