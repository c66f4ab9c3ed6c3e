// GitLab's Code Quality: a list of findings, which merge requests show beside those of the target branch.
//
// Of the report that GitLab documents every member is here, and no other. It has no place for settings and for models that could not be
// checked, so these are entries too: what a report leaves out counts as solved there.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "thaw/check.h"
#include "thaw/report/findings.h"
#include "thaw/report/fingerprints.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

// A model has no lines.
constexpr int kOnlyLine = 1;

std::string_view gitlab_severity(Severity severity) {
  return severity == Severity::kError ? "major" : severity == Severity::kWarning ? "minor" : "info";
}

// As GitLab knows the file: from the folder of the project, in which jobs run. Of two spellings of a path one is left, so that
// fingerprints do not depend on them.
std::string gitlab_path(std::string_view path) {
  if (path.empty()) return "model.onnx";
  const std::filesystem::path given = std::filesystem::path(path).lexically_normal();
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  if (failed || !given.is_absolute()) return given.string();
  const std::filesystem::path inside = given.lexically_relative(here);
  return inside.empty() || *inside.begin() == ".." ? given.string() : inside.string();
}

class GitlabReport {
 public:
  explicit GitlabReport(std::string& text) : json_(text) { json_.begin_array(); }

  struct Entry {
    std::string path, description;
    std::string_view check_name, severity;
    uint64_t place;  // what it is about, whatever the words are
  };
  void add(const Entry& entry) {
    json_.begin_object();
    json_.member("description", printable(entry.description));
    json_.member("check_name", entry.check_name);
    json_.member("fingerprint", fingerprints_.next(hash_text(entry.path, entry.place)));
    json_.member("severity", entry.severity);
    json_.member_object("location", kLine);
    json_.member("path", entry.path);
    json_.member_object("lines");
    json_.member("begin", kOnlyLine);
    json_.end_object();
    json_.end_object();
    json_.end_object();
  }
  void end() { json_.end_array(); }

 private:
  JsonWriter json_;
  Fingerprints fingerprints_;
};

void add_gitlab_findings(GitlabReport& report, const CheckedFile& file, const std::string& path) {
  for (const size_t i : by_severity(file.report.findings)) {
    const Finding& finding = file.report.findings[i];
    std::string description = fmt::format("{}: {}: {}", finding.title, describe(finding.where), finding.message);
    if (!finding.commands.empty()) description += fmt::format("; help: {}", finding.commands.front());
    report.add({.path = path,
                .description = std::move(description),
                .check_name = finding.code,
                .severity = gitlab_severity(finding.severity),
                .place = hash_place(finding)});
  }
}

void add_gitlab_note(GitlabReport& report, const std::string& path, std::string_view check_name, std::string text) {
  const uint64_t place = hash_text(text);
  report.add({.path = path,
              .description = std::move(text),
              .check_name = check_name,
              .severity = gitlab_severity(Severity::kNote),
              .place = place});
}

}  // namespace
}  // namespace thaw::report

namespace thaw {

std::string to_gitlab(std::span<const CheckedFile> files) {
  std::string text;
  report::GitlabReport report(text);
  for (const CheckedFile& file : files) {
    const std::string path = report::gitlab_path(file.report.model);
    if (&file == &files.front()) {
      const std::string& settings = file.settings.file;
      for (std::string& sentence : report::settings_sentences(file.settings))
        report::add_gitlab_note(report, settings.empty() ? path : report::gitlab_path(settings), "settings",
                                std::move(sentence));
    }
    report::add_gitlab_findings(report, file, path);
    if (!file.report.suppressed.empty())
      report::add_gitlab_note(
          report, path, "suppressed",
          fmt::format("turned off by {}: {}", file.settings.file, report::by_rule(file.report.suppressed)));
    if (file.error)
      report.add({.path = path,
                  .description = file.error->what(),
                  .check_name = name_of(file.error->code()),
                  .severity = "blocker",
                  .place = report::hash_text(name_of(file.error->code()))});
  }
  report.end();
  return text + "\n";
}

std::string to_gitlab(const CheckReport& report) { return to_gitlab(std::vector<CheckedFile>{{.report = report}}); }

}  // namespace thaw
