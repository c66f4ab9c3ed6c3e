#include "thaw/sensitivity/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/saturated.h"
#include "thaw/rewrite/join_models.h"
#include "thaw/run/providers.h"
#include "thaw/sensitivity/figures.h"

namespace thaw::measuring {
namespace {

// What adds up: of decibels, the noise.
double additive(const ErrorFigures& figures, ErrorMetric metric) {
  return metric == ErrorMetric::kSqnr ? figures.noise : figure_of(figures, metric);
}

int64_t signed_bytes(uint64_t bytes) {
  return static_cast<int64_t>(std::min(bytes, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}

// By unit, by precision; null where it is not there or failed.
std::vector<std::vector<const UnitError*>> by_unit(const SensitivityReport& report) {
  std::vector<std::vector<const UnitError*>> errors(report.units.size(),
                                                    std::vector<const UnitError*>(report.precisions.size(), nullptr));
  for (const UnitError& error : report.errors)
    if (error.status != UnitStatus::kFailed && !error.in.empty()) errors[error.unit][error.precision] = &error;
  return errors;
}

class Planner {
 public:
  // `metric`: that errors are minimized of.
  Planner(const SensitivityReport& report, ErrorMetric metric) : report_(report), assignment_(choices(metric)) {}

  const Assignment& assignment() const { return assignment_; }

  MixedPlan plan_of(const Assigned& assigned) const {
    MixedPlan plan;
    plan.precisions.resize(report_.units.size());
    plan.bytes = bytes_after(report_, assigned.saved);
    for (size_t unit = 0; unit < report_.units.size(); ++unit) {
      if (!assigned.choices[unit]) continue;
      const UnitError& error = *errors_[unit][index_[unit][*assigned.choices[unit]]];
      plan.precisions[unit] = error.precision;
      const ErrorFigures mean = mean_of(error.in);
      plan.predicted.mse += mean.mse;
      plan.predicted.cosine += mean.cosine;
      plan.predicted.kl += mean.kl;
      plan.predicted.noise += mean.noise;
    }
    return plan;
  }

 private:
  std::vector<std::vector<Choice>> choices(ErrorMetric metric) {
    errors_ = by_unit(report_);
    index_.resize(report_.units.size());
    std::vector<std::vector<Choice>> choices(report_.units.size());
    for (size_t unit = 0; unit < choices.size(); ++unit)
      for (size_t p = 0; p < report_.precisions.size(); ++p) {
        const UnitError* error = errors_[unit][p];
        if (!error) continue;
        choices[unit].push_back({error->bytes, std::max(0.0, additive(mean_of(error->in), metric))});
        index_[unit].push_back(p);
      }
    return choices;
  }

  const SensitivityReport& report_;
  std::vector<std::vector<const UnitError*>> errors_;
  std::vector<std::vector<size_t>> index_;  // by unit: the precision of each of its choices
  Assignment assignment_;
};

[[noreturn]] void refuse(std::string what, std::string expected) {
  throw Error(ErrorCode::kInvalidArgument, {.what = std::move(what), .where = "plan", .expected = std::move(expected)});
}

// What the report has of all nodes together, by precision.
std::vector<MixedPlan> uniform_plans(const SensitivityReport& report) {
  std::vector<MixedPlan> plans;
  for (size_t p = 0; p < report.uniform_errors.size(); ++p) {
    if (report.uniform_errors[p].empty() || report.uniform_bytes_saved[p] <= 0) continue;
    MixedPlan& one = plans.emplace_back();
    one.uniform = p;
    one.bytes = bytes_after(report, report.uniform_bytes_saved[p]);
    one.predicted = mean_of(report.uniform_errors[p]);
    one.precisions.resize(report.units.size());
    for (const UnitError& error : report.errors)
      if (error.precision == p && error.status != UnitStatus::kFailed) one.precisions[error.unit] = p;
  }
  return plans;
}

std::string where_measured(const Runtime& runtime) {
  return runtime.version.empty() ? "what its report does not say" : run::describe(runtime);
}

using ErrorsByUnit = std::map<std::pair<size_t, size_t>, UnitError>;  // and precision

// A shard that was forgotten is no reason to leave its nodes out of every plan.
void require_all(const SensitivityReport& report, const ErrorsByUnit& errors) {
  size_t missing = 0;
  std::string first;
  for (size_t unit = 0; unit < report.units.size(); ++unit) {
    if (errors.contains({unit, 0})) continue;
    if (missing++ == 0) first = report.units[unit].name;
  }
  if (missing > 0)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} of {} nodes are in none of the reports, the first of them '{}'", missing,
                                     report.units.size(), first),
                 .where = "merge",
                 .expected = "the reports of all shards",
                 .next = "measure the shard that is missing"});
}

bool is_same(const ErrorFigures& a, const ErrorFigures& b) {
  return a.mse == b.mse && a.cosine == b.cosine && a.kl == b.kl && a.noise == b.noise;
}

}  // namespace

uint64_t bytes_after(const SensitivityReport& report, int64_t saved) {
  return static_cast<uint64_t>(std::max<int64_t>(0, saturated_difference(signed_bytes(report.weight_bytes), saved)));
}

MixedPlan plan(const SensitivityReport& report, const PlanOptions& options) {
  return plans_within(report, options).front();
}

std::vector<MixedPlan> plans_within(const SensitivityReport& report, const PlanOptions& options) {
  const int limits = options.max_bytes.has_value() + options.max_error.has_value() + options.min_sqnr.has_value();
  if (limits != 1)
    refuse(limits == 0 ? "no limit is given for the plan" : "more than one limit is given for the plan",
           "one of --max-bytes, --max-error or --target-sqnr");
  std::vector<MixedPlan> plans = uniform_plans(report);
  if (options.max_bytes) {
    const Planner planner(report, report.metric);
    const int64_t needed = signed_bytes(report.weight_bytes) - signed_bytes(*options.max_bytes);
    uint64_t least = bytes_after(report, planner.assignment().most());
    for (const MixedPlan& one : plans) least = std::min(least, one.bytes);
    std::erase_if(plans, [&](const MixedPlan& one) { return one.bytes > *options.max_bytes; });
    if (const std::optional<Assigned> assigned = planner.assignment().saving(needed))
      plans.insert(plans.begin(), planner.plan_of(*assigned));
    if (plans.empty())
      refuse(fmt::format("no plan of this report fits in {} bytes", *options.max_bytes),
             fmt::format("{} or more, or a report of narrower precisions", least));
    std::ranges::stable_sort(plans, {}, [&](const MixedPlan& one) { return additive(one.predicted, report.metric); });
    return plans;
  }
  const bool is_noise = options.min_sqnr.has_value();
  const double limit = is_noise ? std::pow(10, -*options.min_sqnr / 10) : *options.max_error;
  if (!(limit >= 0)) refuse(fmt::format("an error of {} is impossible", limit), "0 or more");
  const ErrorMetric metric = is_noise ? ErrorMetric::kSqnr : report.metric;
  if (!is_noise && metric == ErrorMetric::kSqnr)
    refuse("the report ranks by SQNR", "--target-sqnr instead of --max-error");
  const Planner planner(report, metric);
  std::erase_if(plans, [&](const MixedPlan& one) { return additive(one.predicted, metric) > limit; });
  plans.insert(plans.begin(), planner.plan_of(planner.assignment().within(limit)));
  std::ranges::stable_sort(plans, {}, &MixedPlan::bytes);
  return plans;
}

ConvertOptions convert_options(const SensitivityReport& report, const MixedPlan& plan) {
  ConvertOptions options;
  options.join_projections = false;
  if (plan.uniform) {
    options.precision = report.precisions[*plan.uniform];
    for (const std::string& name : report.excluded_nodes)
      options.plan.push_back({.name = name, .precision = {.to = NumberFormat::kKeep}});
    return options;
  }
  for (size_t unit = 0; unit < report.units.size(); ++unit)
    for (const std::string& node : report.units[unit].nodes)
      options.plan.push_back({.name = node,
                              .precision = plan.precisions[unit] ? report.precisions[*plan.precisions[unit]]
                                                                 : PrecisionOptions{.to = NumberFormat::kKeep}});
  return options;
}

std::map<std::string, ConvertOptions> convert_options_of_parts(const SensitivityReport& report, const MixedPlan& plan) {
  const ConvertOptions whole = convert_options(report, plan);
  std::map<std::string, ConvertOptions> parts;
  for (const std::string& part : report.parts) {
    ConvertOptions& options = parts[part];
    options.join_projections = whole.join_projections;
    const std::string prefix = rewrite::name_in_joined(part, "");
    // A part without a unit has nothing to convert, which would be an error for it alone.
    if (std::ranges::any_of(report.units, [&](const SensitivityUnit& unit) { return unit.name.starts_with(prefix); }))
      options.precision = whole.precision;
    for (const PlannedNode& node : whole.plan)
      if (node.name.starts_with(prefix))
        options.plan.push_back({.name = node.name.substr(prefix.size()), .precision = node.precision});
  }
  return parts;
}

std::vector<MixedPlan> frontier(const SensitivityReport& report, size_t points) {
  const Planner planner(report, report.metric);
  std::vector<MixedPlan> plans;
  for (const Assigned& assigned : planner.assignment().frontier(points)) plans.push_back(planner.plan_of(assigned));
  std::ranges::move(uniform_plans(report), std::back_inserter(plans));
  std::ranges::stable_sort(plans, std::greater(), &MixedPlan::bytes);
  // Of those that another one is better than in both, none.
  double least = std::numeric_limits<double>::infinity();
  std::vector<MixedPlan> best;
  for (MixedPlan& one : plans | std::views::reverse)
    if (const double error = additive(one.predicted, report.metric); error < least) {
      least = error;
      best.push_back(std::move(one));
    }
  std::ranges::reverse(best);
  return best;
}

SensitivityReport merge(const std::vector<SensitivityReport>& shards, const std::vector<std::string>& names) {
  if (shards.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "there is no report to merge",
                                              .where = "merge",
                                              .expected = "the folders that the shards wrote, one or more"});
  const auto name_of_shard = [&](size_t i) { return i < names.size() ? names[i] : fmt::format("report {}", i + 1); };
  SensitivityReport merged = shards.front();
  merged.errors.clear();
  merged.measured = merged.predicted = merged.failed = 0;
  ErrorsByUnit errors;
  for (size_t i = 0; i < shards.size(); ++i) {
    const SensitivityReport& shard = shards[i];
    if (run::describe(shard.runtime) != run::describe(merged.runtime))
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("{} was measured on {}, and {} on {}", name_of_shard(i),
                                       where_measured(shard.runtime), name_of_shard(0), where_measured(merged.runtime)),
                   .where = "merge",
                   .expected = "shards of one provider, device and ONNX Runtime: kernels round otherwise elsewhere",
                   .next = "measure that shard again, where the others were"});
    if (shard.run_key != merged.run_key || shard.units.size() != merged.units.size())
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("{} is of another run than {}: of another model, other samples or other options",
                                       name_of_shard(i), name_of_shard(0)),
                   .where = "merge",
                   .expected = "reports of one model, with one set of samples and options"});
    for (const UnitError& error : shard.errors) {
      const auto [at, is_new] = errors.try_emplace({error.unit, error.precision}, error);
      if (is_new) continue;
      const bool agree =
          at->second.in.size() == error.in.size() &&
          std::ranges::equal(at->second.in, error.in, [](const auto& a, const auto& b) { return is_same(a, b); });
      if (!agree)
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = fmt::format("{} and a report before it differ in '{}'", name_of_shard(i),
                                         merged.units[error.unit].name),
                     .where = "merge",
                     .expected = "figures of one machine, or of machines that compute alike",
                     .next = "measure that shard again"});
    }
  }
  require_all(merged, errors);
  for (auto& [key, error] : errors) {
    merged.measured += error.status == UnitStatus::kMeasured;
    merged.predicted += error.status == UnitStatus::kPredicted;
    merged.failed += error.status == UnitStatus::kFailed;
    merged.errors.push_back(std::move(error));
  }
  return merged;
}

}  // namespace thaw::measuring
