#include "thaw/cli/verify_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "thaw/cli/verify_report.h"
#include "thaw/report/html_page.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

using report::html_text;
using report::HtmlCell;
using report::Outcome;

// Colours say again what each cell writes: how many powers of ten a difference has.
constexpr std::string_view kHeat = R"(
.heat td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.h0 { background: #e4f3e9; } .h1 { background: #cfe9d8; } .h2 { background: #fdf3cf; } .h3 { background: #fbe0b0; }
.h4 { background: #f6c3a5; } .h5 { background: #f0a3a0; }
@media (prefers-color-scheme: dark) { .h0 { background: #17301f; } .h1 { background: #1e3d28; } .h2 { background: #413a17; }
  .h3 { background: #4c3a17; } .h4 { background: #53301c; } .h5 { background: #5b2426; } }
)";

Outcome verdict_of(VerifyStatus status) {
  return status == VerifyStatus::kAgrees           ? Outcome::kGood
         : status == VerifyStatus::kReferenceFails ? Outcome::kOpen
                                                   : Outcome::kBad;
}

std::string where_of(const PointResult& point) {
  std::string text = point.case_name;
  for (const auto& [name, size] : point.sizes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, size);
  if (!text.empty()) return text;
  for (const auto& [name, type] : point.inputs) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, type);
  return text;
}

// The largest difference of a point's outputs; nullopt where none could be compared.
std::optional<double> worst_at(const PointResult& point) {
  std::optional<double> worst;
  for (const OutputResult& output : point.outputs)
    if (output.comparison.comparable) worst = std::max(worst.value_or(0), output.comparison.max_abs);
  return worst;
}

size_t heat_of(double difference) {
  constexpr double kMildest = -6;  // a millionth and less is as good as equal
  if (difference <= 0) return 0;
  return static_cast<size_t>(std::clamp(std::log10(difference) - kMildest, 0.0, 5.0));
}

std::string heat_cell(const PointResult* point) {
  if (point == nullptr) return "<td></td>";
  const std::optional<double> worst = worst_at(*point);
  if (!worst) return fmt::format("<td class=\"h5\">{}</td>", html_text(name_of(point->status)));
  const bool agrees = point->status == VerifyStatus::kAgrees;
  return fmt::format("<td class=\"h{}\">{:.1e}{}</td>", agrees ? heat_of(*worst) : 5, *worst, agrees ? "" : " differs");
}

// The names whose sizes differ from point to point.
std::vector<std::string> swept_names(const VerifyReport& report) {
  std::vector<std::string> names;
  std::map<std::string, std::set<int64_t>> values;
  for (const PointResult& point : report.points) {
    for (const auto& [name, size] : point.sizes) {
      if (!values.contains(name)) names.push_back(name);
      values[name].insert(size);
    }
  }
  std::erase_if(names, [&](const std::string& name) { return values[name].size() < 2; });
  return names;
}

int64_t size_at(const PointResult& point, const std::string& name) {
  const auto found = std::ranges::find(point.sizes, name, &NamedSizes::value_type::first);
  return found == point.sizes.end() ? 0 : found->second;
}

// Down one size, along the other; of several points in a cell the worst. With other sizes swept too they are folded in.
void add_heat_map(report::HtmlPage& page, const VerifyReport& report) {
  const std::vector<std::string> names = swept_names(report);
  if (names.size() < 2) return;
  std::set<int64_t> rows, columns;
  std::map<std::pair<int64_t, int64_t>, const PointResult*> cells;
  for (const PointResult& point : report.points) {
    const int64_t row = size_at(point, names[0]), column = size_at(point, names[1]);
    rows.insert(row);
    columns.insert(column);
    const PointResult*& cell = cells[{row, column}];
    constexpr double kNotCompared = std::numeric_limits<double>::infinity();
    if (cell == nullptr || worst_at(point).value_or(kNotCompared) > worst_at(*cell).value_or(kNotCompared))
      cell = &point;
  }
  page.style(kHeat);
  page.heading(fmt::format("The largest difference by {} and {}", names[0], names[1]));
  if (names.size() > 2) page.sentence("Of points that differ in other sizes alone, the worst is shown.");
  std::string html =
      fmt::format("<div class=\"wide\" tabindex=\"0\"><table class=\"heat\">\n<thead><tr><th>{} \\ {}</th>",
                  html_text(names[0]), html_text(names[1]));
  for (const int64_t column : columns) html += fmt::format("<th scope=\"col\">{}</th>", column);
  html += "</tr></thead>\n<tbody>\n";
  for (const int64_t row : rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", row);
    for (const int64_t column : columns) {
      const auto found = cells.find({row, column});
      html += heat_cell(found == cells.end() ? nullptr : found->second);
    }
    html += "</tr>\n";
  }
  page.markup(html + "</tbody>\n</table></div>\n");
}

}  // namespace

std::string verify_page(const VerifyOptions& options, const VerifyReport& report) {
  report::HtmlPage page(fmt::format("thaw verify: {}", options.model.string()));
  const auto agree = std::ranges::count(report.points, VerifyStatus::kAgrees, &PointResult::status);
  page.verdict(report.passed() ? Outcome::kGood : Outcome::kBad, report.passed() ? "agrees" : "differs",
               fmt::format("Compared with {} at {} of sizes; it agrees at {}.", options.reference.string(),
                           report::counted(report.points.size(), "point"), agree));
  add_heat_map(page, report);
  page.heading("Every output");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PointResult& point : report.points) {
    const HtmlCell status = HtmlCell::verdict(verdict_of(point.status), name_of(point.status));
    if (point.outputs.empty()) rows.push_back({HtmlCell::text(where_of(point)), status, HtmlCell::text(point.message)});
    for (const OutputResult& output : point.outputs) {
      const Comparison& figures = output.comparison;
      std::vector<HtmlCell> row{
          HtmlCell::text(where_of(point)),
          HtmlCell::verdict(figures.passed ? Outcome::kGood : Outcome::kBad, figures.passed ? "agrees" : "differs"),
          HtmlCell::code(fmt::format("{} {}", output.name, output.actual))};
      if (figures.comparable)
        for (const double figure : {figures.max_abs, figures.max_rel, figures.cosine})
          row.push_back(HtmlCell::number(figure));
      else
        row.insert(row.end(), 3, HtmlCell::text(""));
      row.push_back(HtmlCell::text(figures.reason));
      rows.push_back(std::move(row));
    }
  }
  page.table({"sizes", "status", "output", "max abs", "max rel", "cosine", "why"}, rows);
  for (const std::string& note : report.notes) page.sentence("Note: " + note + ".");
  return page.finish();
}

}  // namespace thaw::cli
