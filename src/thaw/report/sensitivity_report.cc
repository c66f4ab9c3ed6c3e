// What `thaw sensitivity` measured, and the plan that `thaw plan` makes of it.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/quant/precisions.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/sensitivity_page.h"
#include "thaw/report/table.h"
#include "thaw/sensitivity.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw {
namespace {

using report::bytes_text;
using report::JsonWriter;

std::string figure_text(double figure, ErrorMetric metric) {
  if (metric != ErrorMetric::kSqnr) return fmt::format("{:.3g}", figure);
  return std::isinf(figure) && figure > 0 ? "equal" : fmt::format("{:.1f} dB", figure);
}

constexpr size_t kWorstShown = 12;  // of the worst

std::string worst_text(const SensitivityReport& report, size_t precision) {
  std::vector<std::pair<Estimate, const UnitError*>> order;
  for (const UnitError& error : report.errors)
    if (error.precision == precision && error.status != UnitStatus::kFailed)
      order.emplace_back(estimate(error.in, report.metric, report.seed), &error);
  const bool less_is_worse = report.metric == ErrorMetric::kSqnr;
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) {
    return less_is_worse ? a.first.mean < b.first.mean : a.first.mean > b.first.mean;
  });
  report::Table table;
  table.add({"node", std::string(measuring::word_of(report.metric)), "95 % interval", "saves", ""});
  for (size_t i = 0; i < std::min(kWorstShown, order.size()); ++i) {
    const auto& [figure, error] = order[i];
    const SensitivityUnit& unit = report.units[error->unit];
    const std::string others = unit.nodes.size() > 1 ? fmt::format(" and {} more", unit.nodes.size() - 1) : "";
    table.add(
        {unit.name + others, figure_text(figure.mean, report.metric),
         error->in.size() > 1
             ? fmt::format("{} to {}", figure_text(figure.low, report.metric), figure_text(figure.high, report.metric))
             : "",
         bytes_text(static_cast<double>(error->bytes)), error->status == UnitStatus::kPredicted ? "predicted" : ""});
  }
  std::string text = fmt::format("{}: the most sensitive of {}\n{}",
                                 quantizing::name_of(report.precisions[precision].to), order.size(), table.text());
  if (precision < report.uniform_errors.size() && !report.uniform_errors[precision].empty())
    text +=
        fmt::format("  all together: {}, {} saved\n",
                    figure_text(measuring::mean_figure(report.uniform_errors[precision], report.metric), report.metric),
                    bytes_text(static_cast<double>(report.uniform_bytes_saved[precision])));
  return text;
}

// Where 16 bits are not those of kernels.
std::string imitation_text(const SensitivityReport& report, size_t precision) {
  if (precision >= report.computed_in_float32.size() || report.computed_in_float32[precision].empty()) return {};
  const std::vector<std::string>& nodes = report.computed_in_float32[precision];
  if (nodes.front() == "*") return "  computed in float32 and rounded: no kernels of this type here\n";
  std::vector<std::string> shown(nodes.begin(),
                                 nodes.begin() + static_cast<ptrdiff_t>(std::min(kWorstShown, nodes.size())));
  for (std::string& name : shown) name = report::printable(name);
  return fmt::format("  computed in float32 and rounded, for want of a kernel, {}: {}{}\n", nodes.size(),
                     fmt::join(shown, ", "), nodes.size() > shown.size() ? ", …" : "");
}

// "24 int4, 3 int8-blocks, 1 as it is".
std::string shares(const SensitivityReport& report, const MixedPlan& plan) {
  std::vector<size_t> counts(report.precisions.size() + 1);
  for (const std::optional<size_t>& precision : plan.precisions) ++counts[precision.value_or(report.precisions.size())];
  std::string text;
  for (size_t p = 0; p < counts.size(); ++p) {
    if (counts[p] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[p],
                        p < report.precisions.size() ? quantizing::name_of(report.precisions[p].to) : "unchanged");
  }
  return text;
}

std::string plan_table(const MixedPlan& plan, const std::optional<MeasuredPlan>& measured) {
  report::Table table;
  table.add({"", "predicted", measured ? "measured" : ""});
  table.add({"bytes of weights", bytes_text(static_cast<double>(plan.bytes)),
             measured ? bytes_text(static_cast<double>(measured->bytes)) : ""});
  for (const ErrorMetric metric : {ErrorMetric::kMse, ErrorMetric::kCosine, ErrorMetric::kKl, ErrorMetric::kSqnr})
    table.add({std::string(measuring::word_of(metric)), figure_text(figure_of(plan.predicted, metric), metric),
               measured ? figure_text(measuring::mean_figure(measured->figures, metric), metric) : ""});
  return table.text();
}

}  // namespace

std::string to_text(const SensitivityReport& report, const TextOptions&) {
  std::string text;
  for (size_t p = 0; p < report.precisions.size(); ++p)
    text += worst_text(report, p) + imitation_text(report, p) + "\n";
  size_t reported = 0;
  for (const UnitError& error : report.errors) {
    if (error.status != UnitStatus::kFailed || reported++ >= kWorstShown) continue;
    text += fmt::format("failed: {}, {}: {}\n", report::printable(report.units[error.unit].name),
                        quantizing::name_of(report.precisions[error.precision].to), report::printable(error.why));
  }
  if (reported > kWorstShown) text += fmt::format("  … and {} more\n", reported - kWorstShown);
  text += fmt::format("{} measured, {} predicted, {} failed, on {} samples\n", report.measured, report.predicted,
                      report.failed, report.samples.size());
  return text + report::ran_on_text(report.runtime);
}

std::string to_json(const PlanReport& plan, const SensitivityReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  report::write_output_member(json, plan.output);
  const auto add = [&](std::string_view name, uint64_t bytes, const std::vector<ErrorFigures>& figures) {
    json.member_object(name);
    json.member("weight_bytes", bytes);
    for (const ErrorMetric metric : {ErrorMetric::kMse, ErrorMetric::kCosine, ErrorMetric::kKl, ErrorMetric::kSqnr})
      json.member(measuring::key_of(metric), measuring::mean_figure(figures, metric));
    json.end_object();
  };
  add("predicted", plan.plan.bytes, {plan.plan.predicted});
  if (plan.measured) add("measured", plan.measured->bytes, plan.measured->figures);
  if (plan.measured) report::write_ran_on(json, plan.measured->runtime);
  report::write_texts(json, "warnings", plan.warning.empty() ? std::vector<std::string>() : std::vector{plan.warning});
  json.member_array("units");
  for (size_t unit = 0; unit < report.units.size(); ++unit) {
    const std::optional<size_t>& precision = plan.plan.precisions[unit];
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", report.units[unit].name);
    json.member("to", precision ? quantizing::name_of(report.precisions[*precision].to) : "keep");
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string to_text(const PlanReport& plan, const SensitivityReport& report) {
  std::string text = fmt::format("{}\n{}", shares(report, plan.plan), plan_table(plan.plan, plan.measured));
  if (plan.measured) text += report::ran_on_text(plan.measured->runtime);
  if (!plan.warning.empty()) text += fmt::format("warning: {}\n", plan.warning);
  return plan.output.empty() ? text : text + fmt::format("wrote {}\n", plan.output);
}

std::string to_json(const SensitivityReport& report) { return measuring::report_json(report); }
std::string to_html(const SensitivityReport& report) { return report::sensitivity_page(report, nullptr, nullptr); }

}  // namespace thaw
