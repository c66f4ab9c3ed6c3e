#include "thaw/report/first_differences.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/run/sweep.h"

namespace thaw::report {
namespace {

std::string figures_text(const Comparison& figures) {
  if (!figures.comparable) return printable(figures.reason);
  if (figures.not_finite > 0)
    return fmt::format("{} of {} elements are NaN or infinite on one side", figures.not_finite, figures.elements);
  return fmt::format("max abs diff {:.3g}, cosine {:.6f}", figures.max_abs_diff, figures.cosine);
}

std::string node_text(const FirstDifference& difference) {
  return difference.node.empty() ? difference.op_type : fmt::format("{} '{}'", difference.op_type, difference.node);
}

// Whether what makes it is to blame, of the numbers that both sides were given.
std::string alone_text(const FirstDifference& difference) {
  const std::string what =
      difference.operators.size() == 1
          ? difference.op_type
          : fmt::format("{} ({})", counted(difference.operators.size(), "node"), fmt::join(difference.operators, ", "));
  if (!difference.alone) return fmt::format("{} could not be run alone", what);
  const std::string figures = figures_text(*difference.alone);
  if (difference.alone->agrees)
    return fmt::format(
        "with the reference's inputs on both sides {} agrees ({}): it passes on what its inputs differ by", what,
        figures);
  return fmt::format("with the reference's inputs on both sides {} differs too: {}", what, figures);
}

// "case a.npz, batch=2, seq=3"; empty where neither has a name.
std::string point_text(const DifferenceSearch& search) {
  std::string at = search.case_name.empty() ? "" : "case " + search.case_name;
  if (!search.sizes.empty()) at += (at.empty() ? "" : ", ") + run::describe(run::Point{search.sizes});
  return at;
}

std::string search_text(const DifferenceSearch& search) {
  return fmt::format("{} of {} compared, in {}", search.compared, counted(search.candidates, "tensor"),
                     counted(search.runs, "run"));
}

HtmlCell verdict_cell(const Comparison& figures) {
  return HtmlCell::verdict(figures.agrees ? Outcome::kGood : Outcome::kBad,
                           fmt::format("{}: {}", figures.agrees ? "agrees" : "differs", figures_text(figures)));
}

void write_figures(JsonWriter& json, std::string_view name, const Comparison& figures) {
  json.member_object(name, JsonWriter::Layout::kLine);
  json.member("agrees", figures.agrees);
  json.optional_member("message", figures.reason);
  json.member("max_abs_diff", figures.max_abs_diff);
  json.member("max_rel_diff", figures.max_rel_diff);
  json.member("cosine", figures.cosine);
  json.member("elements", figures.elements);
  json.member("outside_tolerance", figures.outside_tolerance);
  json.member("not_finite", figures.not_finite);
  json.end_object();
}

}  // namespace

std::string first_differences_text(const DifferenceSearch& search) {
  const std::string at = printable(point_text(search));
  std::string text = fmt::format("\nfirst differences{}{} ({})\n", at.empty() ? "" : " at ", at, search_text(search));
  for (const FirstDifference& difference : search.tensors) {
    text +=
        fmt::format("  {}  {}  {}\n", printable(difference.name), difference.actual, printable(node_text(difference)));
    text += fmt::format("    {}\n", figures_text(difference.comparison));
    text += fmt::format("    {}\n", printable(alone_text(difference)));
  }
  for (const std::string& note : search.notes) text += "note: " + printable(note) + "\n";
  return text;
}

void add_first_differences(HtmlPage& page, const DifferenceSearch& search) {
  const std::string at = point_text(search);
  page.heading(fmt::format("First differences{}{}", at.empty() ? "" : " at ", at));
  page.sentence(fmt::format(
      "These tensors differ, and all that they are computed from agrees. Alone, both sides were given the reference's "
      "inputs. {}.",
      search_text(search)));
  std::vector<std::vector<HtmlCell>> rows;
  for (const FirstDifference& difference : search.tensors)
    rows.push_back({HtmlCell::code(fmt::format("{} {}", difference.name, difference.actual)),
                    HtmlCell::code(node_text(difference)), HtmlCell::text(figures_text(difference.comparison)),
                    difference.alone ? verdict_cell(*difference.alone) : HtmlCell::text("could not be run alone"),
                    HtmlCell::list(difference.operators), HtmlCell::list(difference.inputs)});
  if (!rows.empty()) page.table({"tensor", "node", "difference", "alone", "operators", "computed from"}, rows);
  for (const std::string& note : search.notes) page.sentence("Note: " + note + ".");
}

void write_first_differences(JsonWriter& json, const DifferenceSearch& search) {
  json.member_object("where");
  json.optional_member("case", search.case_name);
  write_map(json, "sizes", search.sizes, JsonWriter::Layout::kLine);
  json.member_array("tensors");
  for (const FirstDifference& difference : search.tensors) {
    json.begin_object();
    json.member("name", difference.name);
    json.member("node", difference.node);
    json.member("op_type", difference.op_type);
    json.member("type", difference.actual);
    json.member("expected_type", difference.expected);
    write_figures(json, "comparison", difference.comparison);
    write_texts(json, "inputs", difference.inputs);
    write_texts(json, "operators", difference.operators);
    if (difference.alone) write_figures(json, "alone", *difference.alone);
    json.end_object();
  }
  json.end_array();
  json.member("candidates", search.candidates);
  json.member("compared", search.compared);
  json.member("runs", search.runs);
  write_texts(json, "notes", search.notes);
  json.end_object();
}

}  // namespace thaw::report
