// GitHub's workflow commands: a line a finding, which its actions show beside a change.
//
// In a message %, carriage return and line feed are escaped; in a property ':' and ',' too.
#include <fmt/format.h>

#include "thaw/report/findings.h"
#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

std::string escaped(std::string_view text, std::string_view also) {
  std::string out;
  for (const char c : text) {
    const bool escapes = c == '%' || c == '\r' || c == '\n' || also.find(c) != std::string_view::npos;
    out += escapes ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string_view command_of(Severity severity) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : "notice";
}

}  // namespace

std::string findings_github(std::span<const CheckedModel> models, const CheckSettings& settings) {
  std::string text;
  for (const std::string& sentence : settings_sentences(settings))
    text += fmt::format("::notice title=Thaw::{}\n", escaped(printable(sentence), ""));
  for (const CheckedModel& model : models) {
    for (const size_t i : by_severity(model.findings)) {
      const Finding& finding = model.findings[i];
      std::string message =
          fmt::format("{}: {} {}: {}", model.path, finding.code, describe(finding.where), finding.message);
      if (!finding.commands.empty()) message += fmt::format("; help: {}", finding.commands.front());
      text += fmt::format("::{} title={},file={}::{}\n", command_of(finding.severity),
                          escaped(fmt::format("Thaw ({})", finding.code), ":,"), escaped(printable(model.path), ":,"),
                          escaped(printable(message), ""));
    }
    if (!model.suppressed.empty())
      text += fmt::format("::notice title=Thaw,file={}::{}\n", escaped(printable(model.path), ":,"),
                          escaped(printable(fmt::format("{}: turned off by {}: {}", model.path, settings.file,
                                                        by_rule(model.suppressed))),
                                  ""));
  }
  return text;
}

}  // namespace thaw::report
