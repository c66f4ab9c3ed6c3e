// SARIF 2.1.0 (OASIS): one run, one artifact (the model), one result a finding.
//
// A model is no text, so a result has no line: its place is a logical location, the node. Fingerprints keep a finding
// the same from one run to the next: they cover the rule and the place, not the wording.
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/report/findings.h"
#include "thaw/version.h"

namespace thaw::report {
namespace {

constexpr auto kLine = JsonWriter::Layout::kLine;

std::string uri_of(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

uint64_t fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string fingerprint(const Finding& finding, std::unordered_map<uint64_t, int>& seen) {
  uint64_t hash = fnv1a(finding.code);
  for (const std::string* part :
       {&finding.where.graph, &finding.where.node, &finding.where.op, &finding.where.tensor}) {
    hash = fnv1a(*part, fnv1a("/", hash));
  }
  return fmt::format("{:016x}:{}", hash, ++seen[hash]);  // the second finding of a rule at one place is its second
}

std::string qualified_name(const Place& place) {
  std::string name = place.graph;
  for (const std::string* part : {&place.node, &place.tensor}) {
    if (!part->empty()) name += (name.empty() ? "" : "/") + *part;
  }
  return name;
}

void write_text(JsonWriter& json, std::string_view name, std::string_view text) {
  json.member_object(name, kLine);
  json.member("text", text);
  json.end_object();
}

// The members of a SARIF location.
void write_location(JsonWriter& json, std::string_view uri, const Place& place) {
  json.member_object("physicalLocation", kLine);
  json.member_object("artifactLocation");
  json.member("uri", uri);
  json.member("index", 0);
  json.end_object();
  json.end_object();
  if (place.empty()) return;
  json.member_array("logicalLocations", kLine);
  json.begin_object();
  const std::string& name = place.node.empty() ? place.tensor : place.node;
  json.optional_member("name", name.empty() ? place.op : name);
  json.optional_member("fullyQualifiedName", qualified_name(place));
  json.member("kind", place.node.empty() && place.op.empty() ? "variable" : "function");
  json.end_object();
  json.end_array();
}

void write_result(JsonWriter& json, const Finding& finding, size_t rule, std::string_view uri,
                  std::unordered_map<uint64_t, int>& seen) {
  json.begin_object();
  json.member("ruleId", finding.code);
  json.member("ruleIndex", rule);
  json.member("level", name_of(finding.severity));
  std::string message = fmt::format("{}: {}", describe(finding.where), finding.message);
  if (!finding.source.empty()) message += fmt::format("; comes from {}", finding.source);
  for (const auto& [name, body] : finding.details) message += fmt::format("; {}: {}", name, body);
  if (!finding.fix.empty()) message += fmt::format("; fix: {}", finding.fix);
  write_text(json, "message", message);
  json.member_array("locations");
  json.begin_object();
  write_location(json, uri, finding.where);
  json.end_object();
  json.end_array();
  if (!finding.related.empty()) {
    json.member_array("relatedLocations");
    for (const Related& related : finding.related) {
      json.begin_object();
      write_location(json, uri, related.where);
      write_text(json, "message", related.message);
      json.end_object();
    }
    json.end_array();
  }
  json.member_object("partialFingerprints", kLine);
  json.member("thawPlace/v1", fingerprint(finding, seen));
  json.end_object();
  json.end_object();
}

}  // namespace

std::string findings_sarif(std::string_view model, std::span<const Finding> findings) {
  const std::vector<size_t> order = by_severity(findings);
  std::vector<const Finding*> rules;  // the first finding of each rule: it carries the rule's title
  std::unordered_map<std::string_view, size_t> rule_index;
  for (const size_t i : order) {
    if (rule_index.emplace(findings[i].code, rules.size()).second) rules.push_back(&findings[i]);
  }
  const std::string uri = uri_of(model);
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
    write_text(json, "help", fmt::format("docs/rules.md describes {}.", rule->code));
    json.member_object("defaultConfiguration");
    json.member("level", name_of(rule->severity));
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.end_object();
  json.member_array("artifacts");
  json.begin_object(kLine);
  json.member_object("location");
  json.member("uri", uri);
  json.end_object();
  json.end_object();
  json.end_array();
  json.member_array("results");
  std::unordered_map<uint64_t, int> seen;
  for (const size_t i : order) write_result(json, findings[i], rule_index.at(findings[i].code), uri, seen);
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return text + "\n";
}

}  // namespace thaw::report
