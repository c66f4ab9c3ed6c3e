// The rules, by code. A code is never given to another rule.
#include <algorithm>
#include <iterator>

#include "thaw/check/fixes.h"
#include "thaw/check/profiles.h"
#include "thaw/check/rule.h"
#include "thaw/check/target_support.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/core/suggest.h"

namespace thaw::checking {

namespace {

constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kNote = Severity::kNote;

// clang-format off
constexpr Rule kRules[] = {
    // What the file says of itself.
    {"THAW001", "invalid node", kError, look_for_invalid_nodes},
    {"THAW002", "unknown operator", kNote, look_for_unknown_operators},
    {"THAW003", "one dim_param for two sizes", kError, look_for_name_clashes},
    {"THAW004", "placeholder dim_param", kWarning, look_for_meaningless_dims},
    {"THAW005", "wrong declared type or shape", kWarning, look_for_stale_declarations},
    {"THAW006", "duplicate name", kWarning, look_for_repeated_names},
    // Sizes frozen at an example's.
    {"THAW010", "frozen shape", kError, look_for_frozen_shapes},
    {"THAW011", "frozen split lengths", kError, look_for_frozen_splits},
    {"THAW012", "frozen slice", kError, look_for_frozen_slices},
    {"THAW013", "frozen table", kError, look_for_frozen_tables},
    {"THAW014", "frozen index table", kError, look_for_frozen_indices},
    {"THAW015", "size fixed by a weight", kWarning, look_for_fixing_weights},
    {"THAW016", "frozen size next to a -1", kError, look_for_hidden_sizes},
    {"THAW017", "permuted sizes give wrong results", kError, look_for_permuted_sizes},
    {"THAW018", "batch merged into another axis", kNote, look_for_merged_batch},
    {"THAW019", "free size that accepts few values", kError, look_for_pinned_sizes},
    // Numbers.
    {"THAW020", "Range over floats", kWarning, look_for_float_ranges},
    {"THAW021", "mismatched element types", kError, look_for_mixed_types},
    // What a target does not take (--target).
    {"THAW030", "operator unsupported by the target", kError, report_target_faults},
    {"THAW031", "opset unsupported by the target", kError, look_for_unsupported_opsets},
    {"THAW032", "element type unsupported by the target's kernel", kError, report_target_faults},
    {"THAW033", "control flow unsupported by the target", kError, look_for_control_flow},
    {"THAW034", "shape computation that a constant replaces", kWarning, look_for_shape_chains},
    {"THAW035", "rank known only at run time", kError, look_for_unknown_ranks},
    {"THAW036", "limit of the target's kernel", kError, report_target_faults},
    {"THAW037", "operator that the target takes in part", kNote, report_target_faults},
    {"THAW038", "operator of which the target's table does not tell", kNote, report_target_faults},
    {"THAW039", "free size on a target that wants fixed ones", kError, look_for_free_sizes},
    // Proof over sizes (--sizes).
    {"THAW040", "size that breaks the model", kError, look_for_breaking_sizes},
    {"THAW041", "unproven size condition", kWarning, look_for_unproven_sizes},
    {"THAW042", "size outside the specification", kNote, look_for_unspecified_sizes},
    {"THAW043", "required input values", kNote, look_for_conditions_on_inputs},
    // The check itself; last, as what the others spend counts.
    {"THAW050", "budget exceeded", kWarning, look_for_spent_budget},
};
// clang-format on

// The longest text of the list that the code begins with; 0 where there is none.
size_t match(const std::vector<std::string>& codes, std::string_view code) {
  size_t longest = 0;
  for (const std::string& text : codes)
    if (code.starts_with(text)) longest = std::max(longest, text.size());
  return longest;
}

bool is_chosen(std::string_view code, const std::vector<std::string>& only, const std::vector<std::string>& ignore) {
  const size_t chosen = match(only, code), ignored = match(ignore, code);
  return (only.empty() || chosen > 0) && (ignored == 0 || ignored < chosen);
}

void require_known(const std::vector<std::string>& codes) {
  for (const std::string& code : codes) {
    const auto begins = [&](const Rule& rule) { return rule.code.starts_with(code); };
    if (!code.empty() && std::ranges::any_of(kRules, begins)) continue;
    std::vector<std::string_view> known;
    for (const Rule& rule : kRules) known.push_back(rule.code);
    throw Error(ErrorCode::kInvalidArgument, {.what = "there is no rule '" + code + "'" + did_you_mean(code, known),
                                              .where = {},
                                              .expected = "a code such as THAW003, or what several begin with: THAW03",
                                              .next = "`thaw rule` lists them"});
  }
}

// The rules that speak of the model as a whole: its opset, ranks, free sizes.
constexpr std::string_view kOfWholeModels[] = {"THAW031", "THAW035", "THAW039"};

TargetSupport support_of_target(Evidence& evidence) {
  std::vector<Finding> limits;
  for (const Rule& rule : kRules) {
    if (std::ranges::find(kOfWholeModels, rule.code) == std::end(kOfWholeModels)) continue;
    Findings findings(rule);
    rule.look(evidence, findings);
    std::ranges::move(findings.take(), std::back_inserter(limits));
  }
  return support_of(evidence, limits);
}

}  // namespace

CheckReport check(const ir::Model& model, const CheckOptions& options) {
  const Phase phase("checking");
  require_known(options.only);
  require_known(options.ignore);
  require_known(options.counting.only);
  require_known(options.counting.ignore);
  Evidence evidence(model, options);
  CheckReport report;
  for (const Rule& rule : kRules) {
    if (!is_chosen(rule.code, options.only, options.ignore)) continue;
    const bool counts = is_chosen(rule.code, options.counting.only, options.counting.ignore);
    Findings findings(rule);
    rule.look(evidence, findings);
    for (Finding& f : findings.take()) {
      add_fix(f, model, evidence.target());
      (counts ? report.findings : report.suppressed).push_back(std::move(f));
    }
  }
  if (!options.sizes.empty()) report.proof = evidence.size_proofs().summary;
  if (!options.opt.empty())
    report.profiles = profiles_of(model, evidence.inferred(), evidence.scope(), evidence.dims(), options.opt);
  if (evidence.target()) report.targets.push_back(support_of_target(evidence));
  if (options.target == kAllTargets) {
    for (const std::string_view name : ops::target_names()) {
      evidence.aim_at(*ops::find_target(name));
      report.targets.push_back(support_of_target(evidence));
    }
  }
  return report;
}

}  // namespace thaw::checking

namespace thaw {

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> out;
  for (const checking::Rule& r : checking::kRules)
    out.push_back({r.code, r.title, r.severity, checking::page_of(r.code)});
  return out;
}

}  // namespace thaw
