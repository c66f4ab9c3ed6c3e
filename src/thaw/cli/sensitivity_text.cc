#include "thaw/cli/sensitivity_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "thaw/quant/precisions.h"
#include "thaw/report/table.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw::cli {
namespace {

constexpr size_t kShown = 12;  // of the worst

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
  for (size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const auto& [figure, error] = order[i];
    const SensitivityUnit& unit = report.units[error->unit];
    const std::string others = unit.nodes.size() > 1 ? fmt::format(" and {} more", unit.nodes.size() - 1) : "";
    table.add(
        {unit.name + others, figure_text(figure.mean, report.metric),
         error->in.size() > 1
             ? fmt::format("{} to {}", figure_text(figure.low, report.metric), figure_text(figure.high, report.metric))
             : "",
         megabytes(static_cast<double>(error->bytes)), error->status == UnitStatus::kPredicted ? "predicted" : ""});
  }
  std::string text = fmt::format("{}: the worst of {}\n{}", quantizing::name_of(report.precisions[precision].to),
                                 order.size(), table.text());
  if (precision < report.all_in.size() && !report.all_in[precision].empty())
    text += fmt::format("  all of them: {}, {} saved\n",
                        figure_text(measuring::mean_figure(report.all_in[precision], report.metric), report.metric),
                        megabytes(static_cast<double>(report.all_bytes[precision])));
  return text;
}

}  // namespace

std::string figure_text(double figure, ErrorMetric metric) {
  if (metric != ErrorMetric::kSqnr) return fmt::format("{:.3g}", figure);
  return std::isinf(figure) && figure > 0 ? "equal" : fmt::format("{:.1f} dB", figure);
}

std::string megabytes(double bytes) {
  constexpr double kMega = 1e6, kKilo = 1e3;
  return std::abs(bytes) < kMega ? fmt::format("{:.1f} kB", bytes / kKilo) : fmt::format("{:.1f} MB", bytes / kMega);
}

std::string sensitivity_text(const SensitivityReport& report, const std::string& folder) {
  std::string text;
  for (size_t p = 0; p < report.precisions.size(); ++p) text += worst_text(report, p) + "\n";
  size_t told = 0;
  for (const UnitError& error : report.errors) {
    if (error.status != UnitStatus::kFailed || told++ >= kShown) continue;
    text += fmt::format("failed: {}, {}: {}\n", report.units[error.unit].name,
                        quantizing::name_of(report.precisions[error.precision].to), error.why);
  }
  if (told > kShown) text += fmt::format("  … and {} more\n", told - kShown);
  text += fmt::format("{} measured, {} predicted, {} failed, on {} samples\nwrote {}\n", report.measured,
                      report.predicted, report.failed, report.samples.size(), folder);
  return text;
}

}  // namespace thaw::cli
