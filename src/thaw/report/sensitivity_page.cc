#include "thaw/report/sensitivity_page.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "thaw/quant/precisions.h"
#include "thaw/report/html_page.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw::report {
namespace {

constexpr std::string_view kPageStyle =
#include "thaw/report/pages/sensitivity.css.inc"
    ;
constexpr std::string_view kPageScript =
#include "thaw/report/pages/sensitivity.js.inc"
    ;
constexpr std::string_view kChartScript =
#include "thaw/report/pages/chart.js.inc"
    ;

using Json = nlohmann::json;
using Figures = std::vector<ErrorFigures>;

constexpr size_t kPointsOfFrontier = 60;
constexpr std::array kMetrics{ErrorMetric::kMse, ErrorMetric::kCosine, ErrorMetric::kKl, ErrorMetric::kSqnr};

// What a metric is called where there is room.
std::string_view title_of(ErrorMetric metric) {
  switch (metric) {
    case ErrorMetric::kCosine:
      return "1 - cosine";
    case ErrorMetric::kKl:
      return "divergence, nats";
    case ErrorMetric::kSqnr:
      return "SQNR, dB";
    default:
      return "mean squared error";
  }
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Of each metric.
Json means(const Figures& samples) {
  Json json = Json::array();
  for (const ErrorMetric metric : kMetrics) json.push_back(json_number(measuring::mean_figure(samples, metric)));
  return json;
}

class Page {
 public:
  explicit Page(const SensitivityReport& report)
      : report_(report), page_(fmt::format("thaw sensitivity: {}", report.model)) {}

  std::string write(const MixedPlan* plan, const MeasuredPlan* measured) {
    page_.style(kPageStyle);
    head();
    controls();
    chart("in-order", "Nodes in execution order",
          "Each bar is a node, alone converted; the line over it is the 95 % interval. Pale ones are predicted.");
    chart("sorted", "Sorted", "The worst of them.");
    page_.heading("By layer and kind");
    page_.markup("<div class=\"wide\" tabindex=\"0\"><table id=\"heat\" class=\"heat\"></table></div>\n");
    page_.sentence("The mean over the nodes of a layer and a kind; darker is worse.");
    chart("frontier", "Size against error",
          "The best plans that thaw plan finds if node errors add up, and measured ones.");
    table();
    page_.data("report", data(plan, measured).dump(-1, ' ', false, Json::error_handler_t::replace));
    page_.script(kChartScript);
    page_.script(kPageScript);
    return page_.finish();
  }

 private:
  std::string_view name_of(size_t precision) const { return quantizing::name_of(report_.precisions[precision].to); }

  void head() {
    const bool has_failed = report_.failed > 0;
    page_.verdict(has_failed ? Outcome::kOpen : Outcome::kGood, has_failed ? "in part" : "measured",
                  fmt::format("{} measured, {} predicted, {} failed, on {} samples of {}.", report_.measured,
                              report_.predicted, report_.failed, report_.samples.size(), report_.data));
    page_.sentence(fmt::format(
        "Each node is converted alone, and the outputs are compared with the original's. Weights: {} bytes.",
        grouped(report_.weight_bytes)));
    add_ran_on(page_, report_.runtime);
    for (size_t p = 0; p < report_.computed_in_float32.size(); ++p)
      if (const std::vector<std::string>& nodes = report_.computed_in_float32[p]; !nodes.empty())
        page_.sentence(fmt::format(
            "{}: {} computed in float32, and the results rounded, for want of kernels.", name_of(p),
            nodes.front() == "*" ? "all nodes were" : printable(fmt::format("{}", fmt::join(nodes, ", "))) + " were"));
    if (!report_.preprocessing.empty())
      page_.sentence(fmt::format("Inputs were made by thaw inputs: {}.",
                                 printable(fmt::format("{}", fmt::join(report_.preprocessing, " ")))));
    std::vector<std::vector<HtmlCell>> rows;
    for (size_t p = 0; p < report_.uniform_errors.size(); ++p) {
      const Figures& all = report_.uniform_errors[p];
      if (all.empty()) continue;
      std::vector<HtmlCell> row{HtmlCell::text(name_of(p))};
      for (const ErrorMetric metric : kMetrics) row.push_back(HtmlCell::number(measuring::mean_figure(all, metric)));
      row.push_back(saves(report_.uniform_bytes_saved[p]));
      rows.push_back(std::move(row));
    }
    if (rows.empty()) return;
    page_.heading("All nodes together");
    page_.table({"to", "mse", "cosine", "kl", "sqnr, dB", "saves, bytes"}, rows);
  }

  // Only a script has a use for them, and shows them.
  void controls() {
    std::string html = "<div class=\"controls\" hidden><label>precision <select id=\"to\">";
    for (size_t p = 0; p < report_.precisions.size(); ++p)
      html += fmt::format("<option value=\"{}\">{}</option>", p, html_text(name_of(p)));
    html += "</select></label><label>figure <select id=\"metric\">";
    for (const ErrorMetric metric : kMetrics)
      html += fmt::format("<option value=\"{}\"{}>{}</option>", measuring::word_of(metric),
                          metric == report_.metric ? " selected" : "", title_of(metric));
    page_.markup(html + "</select></label></div>\n");
  }

  void chart(std::string_view id, std::string_view heading, std::string_view sentence) {
    page_.heading(heading);
    page_.markup(
        fmt::format("<div class=\"chart\"><canvas id=\"{}\" role=\"img\" aria-label=\"{}: {}\"></canvas></div>\n", id,
                    html_text(heading), html_text("the figures are in the table below")));
    page_.sentence(sentence);
  }

  static HtmlCell saves(int64_t bytes) {
    return bytes < 0 ? HtmlCell::number(static_cast<double>(bytes)) : HtmlCell::count(static_cast<uint64_t>(bytes));
  }

  void table() {
    page_.heading("All nodes");
    page_.markup(
        "<p class=\"controls\" hidden><label>search <input type=\"search\" id=\"search\"></label>"
        "<span id=\"shown\" role=\"status\"></span></p>\n");
    std::vector<std::vector<HtmlCell>> rows;
    for (const UnitError& error : report_.errors) {
      const SensitivityUnit& unit = report_.units[error.unit];
      std::vector<HtmlCell> row{unit.nodes.size() > 1 ? HtmlCell::list(unit.nodes) : HtmlCell::code(unit.name),
                                HtmlCell::text(unit.layer), HtmlCell::text(unit.kind),
                                HtmlCell::text(name_of(error.precision))};
      for (const ErrorMetric metric : kMetrics) row.push_back(mean_cell(error.in, metric));
      row.push_back(mean_cell(error.out, report_.metric));
      row.push_back(error.status == UnitStatus::kFailed ? HtmlCell::text("") : saves(error.bytes));
      row.push_back(error.status == UnitStatus::kFailed ? HtmlCell::verdict(Outcome::kBad, "failed: " + error.why)
                                                        : HtmlCell::text(measuring::word_of(error.status)));
      rows.push_back(std::move(row));
    }
    page_.table({"node", "layer", "kind", "to", "mse", "cosine", "kl", "sqnr, dB",
                 fmt::format("{} of all but it", measuring::word_of(report_.metric)), "saves, bytes", "status"},
                rows, "nodes");
  }

  static HtmlCell mean_cell(const Figures& samples, ErrorMetric metric) {
    return samples.empty() ? HtmlCell::text("") : HtmlCell::number(measuring::mean_figure(samples, metric));
  }

  static Json point(std::string_view name, uint64_t bytes, const Figures& figures) {
    return {{"name", name}, {"bytes", bytes}, {"figures", means(figures)}};
  }

  Json data(const MixedPlan* plan, const MeasuredPlan* measured) const {
    Json json{{"units", Json::array()},
              {"errors", Json::array()},
              {"frontier", Json::array()},
              {"all", Json::array()},
              {"plan", Json::array()}};
    for (const SensitivityUnit& unit : report_.units)
      json["units"].push_back(
          {{"name", printable(unit.name)}, {"layer", printable(unit.layer)}, {"kind", printable(unit.kind)}});
    for (const UnitError& error : report_.errors) {
      Json one{{"unit", error.unit},
               {"to", error.precision},
               {"status", measuring::word_of(error.status)},
               {"saves", error.bytes}};
      if (error.status != UnitStatus::kFailed) {
        one["in"] = means(error.in);
        for (const ErrorMetric metric : kMetrics) {
          const Estimate interval = estimate(error.in, metric, report_.seed);
          one["low"].push_back(json_number(interval.low));
          one["high"].push_back(json_number(interval.high));
        }
      }
      json["errors"].push_back(std::move(one));
    }
    for (const MixedPlan& best : measuring::frontier(report_, kPointsOfFrontier))
      json["frontier"].push_back(point("a plan", best.bytes, {best.predicted}));
    for (size_t p = 0; p < report_.uniform_errors.size(); ++p)
      if (!report_.uniform_errors[p].empty())
        json["all"].push_back(point(fmt::format("all {}", name_of(p)),
                                    measuring::bytes_after(report_, report_.uniform_bytes_saved[p]),
                                    report_.uniform_errors[p]));
    const auto add_plan = [&](Json chosen, bool is_measured) {
      chosen["is_measured"] = is_measured;
      json["plan"].push_back(std::move(chosen));
    };
    if (plan) add_plan(point("the plan, predicted", plan->bytes, {plan->predicted}), false);
    if (measured) add_plan(point("the plan, measured", measured->bytes, measured->figures), true);
    return json;
  }

  const SensitivityReport& report_;
  HtmlPage page_;
};

}  // namespace

std::string sensitivity_page(const SensitivityReport& report, const MixedPlan* plan, const MeasuredPlan* measured) {
  return Page(report).write(plan, measured);
}

}  // namespace thaw::report
