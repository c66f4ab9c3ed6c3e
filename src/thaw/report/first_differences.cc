#include "thaw/report/first_differences.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/run/sweep.h"

namespace thaw::report {
namespace {

std::string figures_text(const Comparison& figures) {
  if (!figures.comparable) return printable(figures.reason);
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

void write_figures(JsonWriter& json, std::string_view name, const Comparison& figures) {
  json.member_object(name, JsonWriter::Layout::kLine);
  json.member("agrees", figures.agrees);
  json.optional_member("message", figures.reason);
  json.member("max_abs_diff", figures.max_abs_diff);
  json.member("max_rel_diff", figures.max_rel_diff);
  json.member("cosine", figures.cosine);
  json.member("elements", figures.elements);
  json.member("outside_tolerance", figures.outside_tolerance);
  json.end_object();
}

}  // namespace

std::string first_differences_text(const DifferenceSearch& search) {
  std::string at = search.case_name.empty() ? "" : "case " + printable(search.case_name);
  if (!search.sizes.empty()) at += (at.empty() ? "" : ", ") + run::describe(run::Point{search.sizes});
  std::string text = fmt::format("\nfirst differences{}{} ({} of {} compared, in {})\n", at.empty() ? "" : " at ", at,
                                 search.compared, counted(search.candidates, "tensor"), counted(search.runs, "run"));
  for (const FirstDifference& difference : search.tensors) {
    text +=
        fmt::format("  {}  {}  {}\n", printable(difference.name), difference.actual, printable(node_text(difference)));
    text += fmt::format("    {}\n", figures_text(difference.comparison));
    text += fmt::format("    {}\n", printable(alone_text(difference)));
  }
  for (const std::string& note : search.notes) text += "note: " + printable(note) + "\n";
  return text;
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
