// Prints findings: as text for people, as JSON, as SARIF 2.1.0 for code-scanning tools, and for GitHub's actions; gitlab.cc has
// GitLab's Code Quality.
//
// All of them print every finding they are given, the worst first and otherwise in the order given; text may be cut to a
// number of findings per rule, and says so.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/check.h"
#include "thaw/finding.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/style.h"

namespace thaw::report {

std::string_view name_of(Severity severity);  // "error", "warning", "note"

struct FindingCounts {
  size_t errors = 0, warnings = 0, notes = 0;
};
FindingCounts count(std::span<const Finding> findings);
// "2 errors, 1 warning"; "no findings".
std::string describe(const FindingCounts& counts);

// Whether a check with these findings fails: notes alone do not.
bool worth_failing(const FindingCounts& counts);

// "Resize 'Resize_119', tensor '401'"; "the model" for an empty location. One printable line.
std::string describe(const Location& location);

std::string findings_text(std::string_view model, std::span<const Finding> findings, const Style& style,
                          size_t most_per_rule = std::numeric_limits<size_t>::max());

// The members "findings": […] and "counts": {"errors", "warnings", "notes"}, inside an object that the caller has begun.
void write_findings(JsonWriter& json, std::span<const Finding> findings);

// A SARIF log of one run. `model` is the path as given: relative paths stay relative, absolute ones become file URIs.
std::string findings_sarif(std::string_view model, std::span<const Finding> findings);

// The same of several models, in one run.
struct CheckedModel {
  std::string path;
  std::vector<Finding> findings;
  std::vector<Finding> suppressed = {};  // results that are suppressed
  bool is_checked = true;                // false: it could not be
};
std::string findings_sarif(std::span<const CheckedModel> models, const CheckSettings& settings = {});

// A line each as GitHub's actions show it beside a change: "::error file=model.onnx,title=THAW003 one name for two
// sizes::Conv 'Conv_1': …". Notes are notices.
std::string findings_github(std::span<const CheckedModel> models, const CheckSettings& settings = {});

// What a file of settings had a say in, a sentence each; none where there was none.
std::vector<std::string> settings_sentences(const CheckSettings& settings);
// How many findings of each rule, and in words: "THAW004 ×3, THAW010 ×1".
std::map<std::string_view, size_t> counts_by_rule(std::span<const Finding> findings);
std::string by_rule(std::span<const Finding> findings);

// Finding numbers, worst first, otherwise in the order given.
std::vector<size_t> by_severity(std::span<const Finding> findings);

}  // namespace thaw::report
