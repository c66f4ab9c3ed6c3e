// SARIF 2.1.0 (OASIS): one run, one artifact (the model), one result a finding.
//
// A model is no text, so a result has no line: its location is a logical one, the node.
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/check.h"
#include "thaw/report/findings.h"
#include "thaw/report/fingerprints.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/version.h"

namespace thaw::report {
namespace {

// Of a model that comes from no file, a name all the same: who reads the log asks for one.
std::string uri_of(std::string_view path) {
  if (path.empty()) return "model.onnx";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::string qualified_name(const Location& location) {
  std::string name = location.graph;
  for (const std::string* part : {&location.node, &location.tensor}) {
    if (!part->empty()) name += (name.empty() ? "" : "/") + *part;
  }
  return name;
}

std::string_view page_of(std::string_view code) {
  for (const RuleInfo& rule : rules())
    if (rule.code == code) return rule.page;
  return {};
}

void write_text(JsonWriter& json, std::string_view name, std::string_view text) {
  json.member_object(name, kLine);
  json.member("text", text);
  json.end_object();
}

// A model of the log.
struct Artifact {
  std::string uri;
  size_t index;
};

// The members of a SARIF location.
void write_location(JsonWriter& json, const Artifact& artifact, const Location& location) {
  json.member_object("physicalLocation", kLine);
  json.member_object("artifactLocation");
  json.member("uri", artifact.uri);
  json.member("index", artifact.index);
  json.end_object();
  json.end_object();
  if (location.empty()) return;
  json.member_array("logicalLocations", kLine);
  json.begin_object();
  const std::string& name = location.node.empty() ? location.tensor : location.node;
  json.optional_member("name", printable(name.empty() ? location.op : name));
  json.optional_member("fullyQualifiedName", printable(qualified_name(location)));
  json.member("kind", location.node.empty() && location.op.empty() ? "variable" : "function");
  json.end_object();
  json.end_array();
}

// Of a result that counts none; a log has them of all results or of none.
void write_suppressions(JsonWriter& json, const CheckSettings& settings, bool is_suppressed) {
  json.member_array("suppressions", kLine);
  if (is_suppressed) {
    json.begin_object();
    json.member("kind", "external");
    json.member("justification", printable(fmt::format("turned off by {}", settings.file)));
    json.end_object();
  }
  json.end_array();
}

// Which settings had a say in what is found.
void write_invocation(JsonWriter& json, const CheckSettings& settings, bool is_successful) {
  json.member_array("invocations");
  json.begin_object();
  json.member("executionSuccessful", is_successful);
  json.member_array("toolConfigurationNotifications");
  for (const std::string& sentence : settings_sentences(settings)) {
    json.begin_object();
    json.member("level", "note");
    write_text(json, "message", printable(sentence));
    json.end_object();
  }
  json.end_array();
  json.member_object("properties");
  json.optional_member("settingsFile", settings.file);
  write_texts(json, "applied", settings.applied);
  write_texts(json, "ignored", settings.ignored);
  json.end_object();
  json.end_object();
  json.end_array();
}

// A finding as a result of the log.
struct Result {
  const Finding& finding;
  size_t rule;
  bool is_suppressed;
};

void write_result(JsonWriter& json, const Result& result, const Artifact& artifact, const CheckSettings& settings,
                  bool any_suppressed, Fingerprints& fingerprints) {
  const Finding& finding = result.finding;
  json.begin_object();
  json.member("ruleId", finding.code);
  json.member("ruleIndex", result.rule);
  json.member("level", name_of(finding.severity));
  std::string message = fmt::format("{}: {}", describe(finding.where), finding.message);
  if (!finding.source.empty()) message += fmt::format("; comes from {}", finding.source);
  for (const auto& [name, body] : finding.details) message += fmt::format("; {}: {}", name, body);
  if (!finding.consequence.empty()) message += fmt::format("; {}", finding.consequence);
  if (!finding.fix.empty()) message += fmt::format("; fix: {}", finding.fix);
  for (const std::string& command : finding.commands) message += fmt::format("; help: {}", command);
  write_text(json, "message", printable(message));
  json.member_array("locations");
  json.begin_object();
  write_location(json, artifact, finding.where);
  json.end_object();
  json.end_array();
  if (!finding.related.empty()) {
    json.member_array("relatedLocations");
    for (const Related& related : finding.related) {
      json.begin_object();
      write_location(json, artifact, related.where);
      write_text(json, "message", printable(related.message));
      json.end_object();
    }
    json.end_array();
  }
  if (any_suppressed) write_suppressions(json, settings, result.is_suppressed);
  json.member_object("partialFingerprints", kLine);
  json.member("thawPlace/v1", fingerprints.next(hash_place(finding)));
  json.end_object();
  json.end_object();
}

}  // namespace

std::string findings_sarif(std::string_view model, std::span<const Finding> findings) {
  const CheckedModel one{std::string(model), {findings.begin(), findings.end()}};
  return findings_sarif(std::span(&one, 1));
}

std::string findings_sarif(std::span<const CheckedModel> models, const CheckSettings& settings) {
  std::vector<const Finding*> rules;  // the first finding of each rule: it carries the rule's title
  std::unordered_map<std::string_view, size_t> rule_index;
  bool any_suppressed = false, all_checked = true;
  for (const CheckedModel& model : models) {
    for (const std::vector<Finding>* findings : {&model.findings, &model.suppressed})
      for (const size_t i : by_severity(*findings)) {
        const Finding& finding = (*findings)[i];
        if (rule_index.emplace(finding.code, rules.size()).second) rules.push_back(&finding);
      }
    any_suppressed |= !model.suppressed.empty();
    all_checked &= model.is_checked;
  }
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.member("version", "2.1.0");
  json.member_array("runs");
  json.begin_object();
  json.member_object("tool");
  json.member_object("driver");
  json.member("name", "thaw");
  json.member("version", kVersion);
  json.member_array("rules");
  for (const Finding* rule : rules) {
    json.begin_object(kLine);
    json.member("id", rule->code);
    write_text(json, "shortDescription", rule->title);
    json.member("helpUri", fmt::format("urn:thaw:rule:{}", rule->code));
    const std::string_view page = page_of(rule->code);
    json.member_object("help");
    json.member("text", page.empty() ? rule->title : std::string(page));
    json.member("markdown", fmt::format("## {} {}\n{}", rule->code, rule->title, page));
    json.end_object();
    json.member_object("defaultConfiguration");
    json.member("level", name_of(rule->severity));
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.end_object();
  if (!settings_sentences(settings).empty()) write_invocation(json, settings, all_checked);
  json.member_array("artifacts");
  for (const CheckedModel& model : models) {
    json.begin_object(kLine);
    json.member_object("location");
    json.member("uri", uri_of(model.path));
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.member_array("results");
  for (size_t k = 0; k < models.size(); ++k) {
    const Artifact artifact{uri_of(models[k].path), k};
    Fingerprints fingerprints;
    for (const std::vector<Finding>* findings : {&models[k].findings, &models[k].suppressed})
      for (const size_t i : by_severity(*findings)) {
        const Finding& finding = (*findings)[i];
        const Result result{.finding = finding,
                            .rule = rule_index.at(finding.code),
                            .is_suppressed = findings == &models[k].suppressed};
        write_result(json, result, artifact, settings, any_suppressed, fingerprints);
      }
  }
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return text + "\n";
}

}  // namespace thaw::report
