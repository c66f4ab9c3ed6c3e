// What `thaw verify` found: how far each output is from the reference's, at each size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "thaw/report/first_differences.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"
#include "thaw/report/worst_output.h"
#include "thaw/run/sweep.h"
#include "thaw/verify.h"

namespace thaw {
namespace {

using report::cosine_cell;
using report::cosine_of;
using report::cosine_text;
using report::html_text;
using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::max_diff_of;
using report::MaxDiff;
using report::Outcome;
using report::Style;
using report::Worst;

constexpr std::string_view kHeatStyle =
#include "thaw/report/pages/verify.css.inc"
    ;

std::string_view status_name(VerifyStatus status) {
  switch (status) {
    case VerifyStatus::kAgrees:
      return "agrees";
    case VerifyStatus::kDiffers:
      return "differs";
    case VerifyStatus::kModelFails:
      return "model fails";
    case VerifyStatus::kReferenceFails:
      return "reference fails";
  }
  return "";
}

std::string inputs_text(const PointResult& point) {
  std::string text;
  for (const auto& [name, type] : point.inputs) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, type);
  return text;
}

// Where a size has no name of its own (a fixed model, a case of a file) its inputs say what was run.
std::string point_label(const PointResult& point) {
  std::string label = point.case_name.empty() ? "" : "case " + point.case_name;
  const std::string sizes = run::describe(run::Point{point.sizes});
  if (!sizes.empty()) return label + (label.empty() ? "" : ": ") + sizes;
  if (label.empty()) label = inputs_text(point);
  return label.empty() ? "no inputs" : label;
}

Worst worst_of(const PointResult& point) {
  Worst worst;
  for (const OutputResult& output : point.outputs) worst.add(output);
  return worst;
}

// Empty where all ran on the CPU alone.
std::string where_both_ran(const VerifyReport& report) {
  const std::string ran = report::runtime_text(report.runtime),
                    reference = report::runtime_text(report.reference_runtime);
  if (ran.empty() && reference.empty()) return {};
  return fmt::format("{}; the reference on {}", ran.empty() ? "the CPU" : ran,
                     reference.empty() ? "the CPU" : reference);
}

// A line for each size.
std::string points_text(const VerifyReport& report) {
  report::Table table;
  table.add({"", "sizes", "max abs diff", "min cosine", "output"});
  for (const PointResult& point : report.points) {
    const Worst worst = worst_of(point);
    std::vector<std::string> row{std::string(status_name(point.status)), point_label(point), "-", "-", ""};
    if (worst.is_known()) {
      row[2] = worst.max_diff().text();
      row[3] = cosine_text(worst.lowest_cosine);
      row[4] = worst.output->name;
    }
    table.add(std::move(row));
  }
  return table.text(0);
}

// Every output at a size, and why it differs.
std::string outputs_text(const PointResult& point, const Style& style) {
  std::string text = fmt::format("\n{}: {}\n", style(Style::Look::kBold, report::printable(point_label(point))),
                                 status_name(point.status));
  if (!point.message.empty()) text += "  " + report::printable(point.message) + "\n";
  if (point.outputs.empty()) return text;
  report::Table table;
  table.add({"", "output", "type", "max abs diff", "max rel diff", "cosine"});
  for (const OutputResult& output : point.outputs) {
    const Comparison& figures = output.comparison;
    std::vector<std::string> row{figures.agrees ? "agrees" : "differs", output.name, output.actual, "-", "-", "-"};
    if (figures.comparable) {
      row[3] = max_diff_of(figures).text();
      row[4] = fmt::format("{:.3g}", figures.max_rel_diff);
      row[5] = cosine_text(cosine_of(figures));
    }
    table.add(std::move(row));
  }
  text += table.text();
  for (const OutputResult& output : point.outputs)
    if (!output.comparison.agrees)
      text += report::printable(fmt::format("  '{}': {}", output.name, output.comparison.reason)) + "\n";
  return text;
}

// The largest difference of all, and where.
std::string worst_output(const VerifyReport& report) {
  Worst worst;
  for (const PointResult& point : report.points)
    for (const OutputResult& output : point.outputs) worst.add(output);
  if (!worst.is_known()) return {};
  return fmt::format("max abs diff {} ('{}'), min cosine {}", worst.max_diff().text(),
                     report::printable(worst.output->name), cosine_text(worst.lowest_cosine));
}

void write_output_result(JsonWriter& json, const OutputResult& output) {
  const Comparison& comparison = output.comparison;
  json.begin_object(JsonWriter::Layout::kLine);
  json.member("name", output.name);
  json.member("agrees", comparison.agrees);
  json.optional_member("type", output.actual);
  json.optional_member("expected_type", output.expected == output.actual ? "" : output.expected);
  json.optional_member("message", comparison.reason);
  for (const auto& [key, value] : {std::pair<const char*, double>{"max_abs_diff", comparison.max_abs_diff},
                                   {"max_rel_diff", comparison.max_rel_diff},
                                   {"cosine", comparison.cosine}}) {
    json.key(key);
    if (comparison.comparable) {
      json.value(value);
    } else {
      json.null();
    }
  }
  json.member("elements", comparison.elements);
  json.member("outside_tolerance", comparison.outside_tolerance);
  json.member("not_finite", comparison.not_finite);
  json.member_array("worst_index");
  for (const int64_t index : comparison.worst_index) json.value(index);
  json.end_array();
  json.end_object();
}

Outcome verdict_at(VerifyStatus status) {
  return status == VerifyStatus::kAgrees           ? Outcome::kGood
         : status == VerifyStatus::kReferenceFails ? Outcome::kOpen
                                                   : Outcome::kBad;
}

std::string sizes_at(const PointResult& point) {
  std::string text = point.case_name;
  if (!point.sizes.empty()) text += (text.empty() ? "" : ", ") + run::describe(run::Point{point.sizes});
  return text.empty() ? inputs_text(point) : text;
}

// The largest difference of a point's outputs; nullopt where none could be compared.
std::optional<MaxDiff> worst_at(const PointResult& point) {
  const Worst worst = worst_of(point);
  return worst.is_known() ? std::optional(worst.max_diff()) : std::nullopt;
}

size_t heat_of(double difference) {
  constexpr double kMildest = -6;  // a millionth and less is as good as equal
  if (difference <= 0) return 0;
  return static_cast<size_t>(std::clamp(std::log10(difference) - kMildest, 0.0, 5.0));
}

// A difference in its colour; `why` where there is none to show.
std::string heat_cell(const std::optional<MaxDiff>& difference, bool agrees, std::string_view why) {
  const size_t heat = !agrees ? 5 : difference ? heat_of(difference->value) : 0;
  std::string text(why);
  if (difference && !difference->word.empty()) text = difference->word;
  if (difference && difference->word.empty())
    text = fmt::format("{:.1e}{}", difference->value, agrees ? "" : " differs");
  return fmt::format("<td class=\"h{}\">{}</td>", heat, html_text(text));
}

std::string heat_cell(const PointResult* point) {
  if (point == nullptr) return "<td></td>";
  return heat_cell(worst_at(*point), point->status == VerifyStatus::kAgrees, status_name(point->status));
}

// Of one output. A case of a file may lack it: that is no difference.
std::string heat_cell(const PointResult& point, const OutputResult* output) {
  if (output && output->comparison.comparable)
    return heat_cell(max_diff_of(output->comparison), output->comparison.agrees, {});
  if (output) return heat_cell(std::nullopt, false, "differs");
  return point.outputs.empty() ? heat_cell(std::nullopt, false, status_name(point.status)) : "<td>not compared</td>";
}

std::string heat_head(std::string_view corner) {
  return fmt::format("<div class=\"wide\" tabindex=\"0\"><table class=\"heat\">\n<thead><tr><th>{}</th>",
                     html_text(corner));
}

// Every output over all sizes, the worst first.
struct OutputOverSizes {
  std::string name;
  Worst worst;
  const PointResult* worst_at = nullptr;
  size_t agree = 0, count = 0;
  std::vector<const OutputResult*> at;  // of each point; null where it was not compared
};

std::vector<OutputOverSizes> outputs_over_sizes(const VerifyReport& report) {
  std::vector<OutputOverSizes> outputs;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < report.points.size(); ++i) {
    for (const OutputResult& result : report.points[i].outputs) {
      const auto [found, is_new] = known.try_emplace(result.name, outputs.size());
      if (is_new)
        outputs.push_back({.name = result.name, .at = std::vector<const OutputResult*>(report.points.size())});
      OutputOverSizes& output = outputs[found->second];
      const OutputResult* before = output.worst.output;
      output.worst.add(result);
      if (output.worst.output != before) output.worst_at = &report.points[i];
      output.at[i] = &result;
      ++output.count;
      output.agree += result.comparison.agrees ? 1 : 0;
    }
  }
  std::ranges::stable_sort(outputs, [](const OutputOverSizes& a, const OutputOverSizes& b) {
    const bool a_fails = a.agree < a.count, b_fails = b.agree < b.count;
    if (a_fails != b_fails) return a_fails;
    const double x = a.worst.is_known() ? a.worst.max_diff().value : 0,
                 y = b.worst.is_known() ? b.worst.max_diff().value : 0;
    return x > y;
  });
  return outputs;
}

void add_worst_outputs(HtmlPage& page, const std::vector<OutputOverSizes>& outputs) {
  if (outputs.empty()) return;
  page.heading("The worst of each output");
  std::vector<std::vector<HtmlCell>> rows;
  for (const OutputOverSizes& output : outputs) {
    const bool agrees = output.agree == output.count;
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(output.name));
    row.push_back(HtmlCell::verdict(agrees ? Outcome::kGood : Outcome::kBad,
                                    fmt::format("agrees at {} of {}", output.agree, output.count)));
    row.push_back(output.worst.is_known() ? output.worst.max_diff().cell() : HtmlCell::text(""));
    row.push_back(output.worst.is_known() ? cosine_cell(output.worst.lowest_cosine) : HtmlCell::text(""));
    row.push_back(HtmlCell::text(output.worst_at ? point_label(*output.worst_at) : ""));
  }
  page.table({"output", "status", "max abs diff", "min cosine", "worst at"}, rows);
}

// Outputs down, sizes along. One row and column have nothing to compare.
void add_output_heat_map(HtmlPage& page, const VerifyReport& report, const std::vector<OutputOverSizes>& outputs) {
  if (outputs.empty() || report.points.size() < 2) return;
  page.heading("max abs diff by output and size");
  std::string html = heat_head("output");
  for (const PointResult& point : report.points)
    html += fmt::format("<th scope=\"col\">{}</th>", html_text(point_label(point)));
  html += "</tr></thead>\n<tbody>\n";
  for (const OutputOverSizes& output : outputs) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(output.name));
    for (size_t i = 0; i < report.points.size(); ++i) html += heat_cell(report.points[i], output.at[i]);
    html += "</tr>\n";
  }
  page.markup(html + "</tbody>\n</table></div>\n");
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
void add_heat_map(HtmlPage& page, const VerifyReport& report) {
  const std::vector<std::string> names = swept_names(report);
  if (names.size() < 2) return;
  std::set<int64_t> rows, columns;
  std::map<std::pair<int64_t, int64_t>, const PointResult*> cells;
  for (const PointResult& point : report.points) {
    const int64_t row = size_at(point, names[0]), column = size_at(point, names[1]);
    rows.insert(row);
    columns.insert(column);
    const PointResult*& cell = cells[{row, column}];
    constexpr MaxDiff kNotCompared{.value = std::numeric_limits<double>::infinity()};
    if (cell == nullptr || worst_at(point).value_or(kNotCompared).value > worst_at(*cell).value_or(kNotCompared).value)
      cell = &point;
  }
  page.heading(fmt::format("max abs diff by {} and {}", names[0], names[1]));
  if (names.size() > 2) page.sentence("Of points that differ in other sizes only, the worst is shown.");
  std::string html = heat_head(fmt::format("{} \\ {}", names[0], names[1]));
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

// "n=1,m=2: output 'y', max abs diff 0.5".
std::string counterexample_text(const Counterexample& example) {
  const std::string sizes = run::describe(run::Point{example.sizes});
  return fmt::format("{}: output '{}', {}", sizes.empty() ? "the models' sizes" : sizes, example.output,
                     std::isfinite(example.max_abs_diff) ? fmt::format("max abs diff {:.3g}", example.max_abs_diff)
                                                         : "which cannot be compared");
}

void write_counterexample(JsonWriter& json, const Counterexample& example) {
  json.member_object("counterexample");
  report::write_map(json, "sizes", example.sizes, JsonWriter::Layout::kLine);
  json.member("output", example.output);
  json.member("max_abs_diff", example.max_abs_diff);
  json.member("command", example.command);
  json.end_object();
}

}  // namespace

std::string to_text(const VerifyReport& report, const TextOptions& how) {
  const Style style(how.colour);
  std::string text =
      fmt::format("{} against {}\n\n", report::printable(report.model), report::printable(report.reference));
  const bool is_replayed = report.points.empty() && report.proof.evidence;
  if (!is_replayed) text += points_text(report);
  for (const PointResult& point : report.points)
    if (how.all || point.status != VerifyStatus::kAgrees) text += outputs_text(point, style);
  text += report::outputs_proof_text(report.proof);
  if (report.counterexample)
    text +=
        fmt::format("\ndiffers already at {}\n  {}\n", report::printable(counterexample_text(*report.counterexample)),
                    report::printable(report.counterexample->command));
  text += "\n";
  for (const std::string& note : report.notes) text += "note: " + report::printable(note) + "\n";
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < report.warnings.size() && i < kShown; ++i) {
    text += "warning: ONNX Runtime: " + report::printable(report.warnings[i]) + "\n";
  }
  if (report.warnings.size() > kShown) {
    text += fmt::format("warning: {} more of ONNX Runtime (--format json has them)\n", report.warnings.size() - kShown);
  }
  if (is_replayed) return text + "the evidence holds: every step follows\n";
  const auto agree = std::ranges::count(report.points, VerifyStatus::kAgrees, &PointResult::status);
  const size_t total = report.points.size();
  text += report.accepted()
              ? fmt::format("agrees at {}", report::counted(total, "size"))
              : fmt::format("fails at {} of {}", total - static_cast<size_t>(agree), report::counted(total, "size"));
  const std::string worst = worst_output(report);
  text += (worst.empty() ? "" : ": ") + worst + "\n";
  if (report.where) text += report::first_differences_text(*report.where);
  const std::string where = where_both_ran(report);
  return where.empty() ? text : text + fmt::format("ran on {}\n", where);
}

std::string to_json(const VerifyReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  json.member("reference", report.reference);
  json.member("accepted", report.accepted());
  json.member_array("points");
  for (const PointResult& point : report.points) {
    json.begin_object();
    json.optional_member("case", point.case_name);
    report::write_map(json, "sizes", point.sizes, JsonWriter::Layout::kLine);
    report::write_map(json, "inputs", point.inputs, JsonWriter::Layout::kLine);
    std::string status(status_name(point.status));
    std::replace(status.begin(), status.end(), ' ', '_');
    json.member("status", status);
    json.optional_member("message", point.message);
    json.member("model_seconds", point.model_seconds);
    json.member("reference_seconds", point.reference_seconds);
    json.member_array("outputs");
    for (const OutputResult& output : point.outputs) write_output_result(json, output);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  report::write_runtime(json, "runtime", report.runtime);
  if (!report.reference_runtime.version.empty())
    report::write_runtime(json, "reference_runtime", report.reference_runtime);
  if (report.where) report::write_first_differences(json, *report.where);
  report::write_proof_members(json, report.proof, "proof_sizes");
  if (report.counterexample) write_counterexample(json, *report.counterexample);
  report::write_texts(json, "notes", report.notes);
  report::write_texts(json, "warnings", report.warnings);
  json.end_object();
  return text + "\n";
}

std::string to_html(const VerifyReport& report) {
  HtmlPage page(fmt::format("thaw verify: {}", report.model));
  if (report.points.empty() && report.proof.evidence) {
    page.verdict(Outcome::kGood, "evidence holds", fmt::format("Against {}: every step follows.", report.reference));
    report::add_proof(page, report.proof);
    return page.finish();
  }
  const auto agree = std::ranges::count(report.points, VerifyStatus::kAgrees, &PointResult::status);
  const std::string worst = worst_output(report);
  page.verdict(report.accepted() ? Outcome::kGood : Outcome::kBad, report.accepted() ? "agrees" : "differs",
               fmt::format("Against {}: agrees at {} of {}{}{}.", report.reference, agree,
                           report::counted(report.points.size(), "size"), worst.empty() ? "" : "; ", worst));
  const std::vector<OutputOverSizes> outputs = outputs_over_sizes(report);
  if (report.points.size() > 1) add_worst_outputs(page, outputs);  // at one size the table below has all that there is
  if (report.points.size() > 1) page.style(kHeatStyle);
  add_output_heat_map(page, report, outputs);
  add_heat_map(page, report);
  page.heading("Every output");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PointResult& point : report.points) {
    const HtmlCell status = HtmlCell::verdict(verdict_at(point.status), status_name(point.status));
    if (point.outputs.empty()) {
      rows.push_back({HtmlCell::text(sizes_at(point)), status});
      rows.back().insert(rows.back().end(), 4, HtmlCell::text(""));
      rows.back().push_back(HtmlCell::text(point.message));
    }
    for (const OutputResult& output : point.outputs) {
      const Comparison& figures = output.comparison;
      std::vector<HtmlCell> row{
          HtmlCell::text(sizes_at(point)),
          HtmlCell::verdict(figures.agrees ? Outcome::kGood : Outcome::kBad, figures.agrees ? "agrees" : "differs"),
          HtmlCell::code(fmt::format("{} {}", output.name, output.actual))};
      if (figures.comparable)
        row.insert(row.end(), {max_diff_of(figures).cell(), HtmlCell::number(figures.max_rel_diff),
                               cosine_cell(cosine_of(figures))});
      else
        row.insert(row.end(), 3, HtmlCell::text(""));
      row.push_back(HtmlCell::text(figures.reason));
      rows.push_back(std::move(row));
    }
  }
  page.table({"sizes", "status", "output", "max abs diff", "max rel diff", "cosine", "why"}, rows);
  report::add_proof(page, report.proof);
  if (report.counterexample)
    page.sentence(fmt::format("Differs already at {}: {}.", counterexample_text(*report.counterexample),
                              report.counterexample->command));
  if (report.where) report::add_first_differences(page, *report.where);
  const std::string where = where_both_ran(report);
  if (!where.empty()) page.sentence(fmt::format("Ran on {}.", where));
  for (const std::string& note : report.notes) page.sentence("Note: " + note + ".");
  return page.finish();
}

}  // namespace thaw
