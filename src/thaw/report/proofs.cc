#include "thaw/report/proofs.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/report/printable.h"
#include "thaw/report/table.h"

namespace thaw::report {
namespace {

std::string_view verdict_name(OutputVerdict verdict) {
  switch (verdict) {
    case OutputVerdict::kProven:
      return "proven";
    case OutputVerdict::kOpen:
      return "open";
    case OutputVerdict::kDiffers:
      return "differs";
  }
  return "";
}

}  // namespace

std::string proofs_text(const VerifyReport& report) {
  if (report.outputs.empty()) return {};
  std::string made = counted(report.terms, "term");
  if (report.rounded_constants > 0)
    made +=
        fmt::format("; {} equal to {:.2g} ulp", counted(report.rounded_constants, "constant"), report.rounding_steps);
  Table table;
  for (const OutputProof& output : report.outputs) {
    std::string what = fmt::format("proven equal at every size ({})", made);
    if (output.verdict != OutputVerdict::kProven)
      what = std::string(verdict_name(output.verdict)) + (output.place.empty() ? "" : ": " + output.place);
    table.add({"output " + output.name, std::move(what)});
  }
  return "\n" + table.text(0);
}

void write_proofs(JsonWriter& json, const VerifyReport& report) {
  if (report.outputs.empty()) return;
  json.member_array("outputs");
  for (const OutputProof& output : report.outputs) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", output.name);
    json.member("verdict", verdict_name(output.verdict));
    json.optional_member("place", output.place);
    json.end_object();
  }
  json.end_array();
  json.member("terms", report.terms);
  json.member("rounded_constants", report.rounded_constants);
  json.member("rounding_steps", report.rounding_steps);
}

}  // namespace thaw::report
