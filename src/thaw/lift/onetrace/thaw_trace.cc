#include "thaw/lift/onetrace/thaw_trace.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/align/raise_opset.h"
#include "thaw/lift/onetrace/attempt.h"
#include "thaw/lift/onetrace/reference.h"
#include "thaw/ops/rule/arity.h"

namespace thaw::lifting::onetrace {
namespace {

constexpr int kFewTries = 6;  // of each plan, before any gets more

void report_sizes(const Sizes& sizes, FixReferenceReport& report) {
  for (const Size& size : sizes.sizes) {
    Note entry{.where = size.name, .message = {}};
    entry.at.push_back(size.at ? std::to_string(*size.at) : "?");
    for (const int64_t v : size.by_case) entry.at.push_back(std::to_string(v));
    entry.message =
        fmt::format("{} at the export; {} in the reference", entry.at.front(), fmt::join(size.by_case, ", "));
    report.symbols.push_back(std::move(entry));
    if (!size.at)
      report.notes.push_back(fmt::format(
          "what '{}' was at the export is not known: no constant is taken for it (--sizes says it)", size.name));
  }
  report.notes.insert(report.notes.end(), sizes.left_out.begin(), sizes.left_out.end());
  if (!sizes.at_case)
    report.notes.emplace_back("no case is at the export's own sizes, so the original model was not compared");
}

// The trace as it is must be the reference's model: at the export's sizes it gives the same numbers.
bool is_right_at_export(const ir::Model& model, const Sizes& sizes, const FixReferenceOptions& options,
                        const dim::Scope& scope, FixReferenceReport& report) {
  if (!sizes.at_case) return true;
  const std::unique_ptr<ir::Model> copy = ir::clone(model);
  open_model(*copy, sizes, options.added, scope);
  const Case& one = sizes.cases[*sizes.at_case];
  run::Session session(*copy);
  const CaseResult result = compare_case(session, one.feeds, one.outputs, options.tolerance);
  if (result.agrees) return true;
  report.cases.push_back(reported(one.name, sizes_of_case(sizes, *sizes.at_case), result));
  report.remaining.push_back({.where = one.name.empty() ? "the case" : fmt::format("case '{}'", one.name),
                              .message = "the original model does not match the reference at the sizes of --sizes "
                                         "and --values: the reference "
                                         "is another model's, or the export was at other sizes"});
  return false;
}

// A guess at the lengths of the tables, and whether equal constants are one.
struct Plan {
  const Lengths* lengths;
  bool joined;
  bool is_open = true;  // something in it was not tried yet
};

// Every plan gets a few tries before any gets many; those that join equal constants first. Returns whether something
// was left untried.
bool run_plans(std::unique_ptr<ir::Model>& model, dim::Scope& scope, const Task& task,
               const std::vector<Lengths>& lengths, int most_tries, FixReferenceReport& report, AttemptReport& best) {
  std::vector<Plan> plans;
  for (const bool joined : {true, false})
    for (const Lengths& one : lengths) plans.push_back({&one, joined});
  bool any_joined = false;
  for (const bool few : {true, false}) {
    for (size_t i = 0; i < plans.size(); ++i) {
      Plan& plan = plans[i];
      const int left = most_tries - report.tries, waiting = static_cast<int>(plans.size() - i);
      if (!plan.is_open || left < 1 || (!plan.joined && !any_joined)) continue;
      std::unique_ptr<ir::Model> copy = ir::clone(*model);
      AttemptReport one = attempt(*copy, scope, task, *plan.lengths, plan.joined,
                                  std::min(left, few ? kFewTries : std::max(kFewTries, left / waiting)));
      report.tries += one.tries;
      plan.is_open = one.bounded;
      any_joined |= one.joined;
      report.all_agree = one.confirmed;
      if (one.confirmed) model = std::move(copy);
      if ((few && i == 0) || one.confirmed) best = std::move(one);
      if (report.all_agree) return false;
    }
  }
  return std::any_of(plans.begin(), plans.end(), [&](const Plan& p) { return p.is_open && (p.joined || any_joined); });
}

}  // namespace

FixReferenceReport thaw_trace(std::unique_ptr<ir::Model>& model, const std::filesystem::path& path,
                              const FixReferenceOptions& given) {
  ops::require_arity(*model);
  ir::tell_names_apart(*model);
  FixReferenceReport report;
  for (const Note& raised : raise_opset_of_sizes(*model))
    report.notes.push_back(fmt::format("the {} is {}", raised.where, raised.message));
  FixReferenceOptions options = given;
  for (const AddedInput& input : inputs_to_add(path, *model, options.added, options.at)) {
    report.notes.push_back(fmt::format("the model gains the input '{}', {}, which the reference holds", input.name,
                                       run::describe(input.type, input.dims)));
    options.added.push_back(input);
  }
  Reference reference = read_reference(path, *model, options.added, options.cases);
  if (!reference.unused.empty())
    report.notes.push_back(fmt::format("arrays of the reference that are no input or output of the model: '{}'",
                                       fmt::join(reference.unused, "', '")));
  if (!reference.missing.empty())
    report.notes.push_back(fmt::format("outputs that the reference does not hold were not compared: '{}'",
                                       fmt::join(reference.missing, "', '")));
  dim::Scope scope;
  const Sizes sizes = find_sizes(*model, options.added, options.at, std::move(reference.cases), scope);
  report_sizes(sizes, report);
  if (!is_right_at_export(*model, sizes, options, scope, report)) return report;
  const std::vector<Table> tables = find_tables(*model);
  const std::vector<Lengths> lengths = possible_lengths(tables, points_of(sizes));

  const Task task{sizes, options.added, tables, options.tolerance, options.fix};
  AttemptReport best;
  const bool bounded = run_plans(model, scope, task, lengths, options.most_tries, report, best);
  if (bounded && !report.all_agree)
    report.notes.emplace_back("not all that is possible was run: --tries says how many choices may be");
  report.changed = std::move(best.changed);
  report.remaining = std::move(best.left);
  report.cases = std::move(best.cases);
  report.notes.insert(report.notes.end(), best.notes.begin(), best.notes.end());
  return report;
}

}  // namespace thaw::lifting::onetrace
