#include "thaw/report/findings.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

Style::Look look_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Style::Look::kRed;
    case Severity::kWarning:
      return Style::Look::kYellow;
    case Severity::kNote:
      return Style::Look::kCyan;
  }
  return Style::Look::kBold;
}

constexpr size_t kMostRelated = 6;  // locations in text, unless every finding is asked for

bool names(const std::string& message, const std::string& name) {
  return !name.empty() && message.find("'" + name + "'") != std::string::npos;
}

// Where a finding is, without what its message names already.
std::string unnamed_location(const Finding& finding) {
  Location location = finding.where;
  if (location.empty()) return describe(location);
  if (names(finding.message, location.tensor)) location.tensor.clear();
  if (names(finding.message, location.node)) location.node.clear();
  if (location.node.empty()) location.op.clear();
  return location.empty() ? std::string() : describe(location);
}

// What is alike in findings that differ in their place alone.
std::string pattern_of(const Finding& finding) {
  std::string text = finding.message;
  for (const Related& related : finding.related) text += "\n" + related.message;
  for (const auto& [name, body] : finding.details) text += fmt::format("\n{}: {}", name, body);
  text += "\n" + finding.source + "\n" + finding.fix;
  // Names and lists differ from location to location: "output '345' is [2*batch*h, 1]".
  std::string pattern;
  for (size_t i = 0; i < text.size(); ++i) {
    const char close = text[i] == '\'' ? '\'' : text[i] == '[' ? ']' : '\0';
    const size_t end = close == '\0' ? std::string::npos : text.find(close, i + 1);
    pattern += text[i];
    if (end != std::string::npos) i = end;
  }
  return pattern;
}

// "×9: '446', '466', …": the locations of findings that are alike, the first among them.
std::string locations_text(std::span<const Finding> findings, std::span<const size_t> group, bool all) {
  constexpr size_t kMostLocations = 6;
  const std::string& node = findings[group.front()].where.node;
  const bool is_one_node = std::ranges::all_of(group, [&](size_t i) { return findings[i].where.node == node; });
  const auto name_of = [&](const Location& location) {
    const std::string& name = is_one_node ? location.tensor : location.node;
    return name.empty() ? describe(location) : "'" + printable(name) + "'";
  };
  std::string text = fmt::format("×{}: ", group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    if (!all && i == kMostLocations) return text + ", …";
    text += (i == 0 ? "" : ", ") + name_of(findings[group[i]].where);
  }
  return text;
}

void add_finding(std::string& text, std::span<const Finding> findings, std::span<const size_t> group,
                 const Style& style, bool all, bool with_fix) {
  const Finding& finding = findings[group.front()];
  const std::string location = unnamed_location(finding);
  text += fmt::format("  {}{}{}\n", location, location.empty() ? "" : ": ", printable(finding.message));
  const auto line = [&](std::string_view name, std::string_view body) {
    text += "    " + style(Style::Look::kDim, fmt::format("{}:", name)) + " " + printable(body) + "\n";
  };
  if (group.size() > 1) text += "    " + locations_text(findings, group, all) + "\n";
  if (!finding.source.empty()) line("comes from", finding.source);
  for (const auto& [name, body] : finding.details) line(printable(name), body);
  const size_t related = all ? finding.related.size() : std::min(finding.related.size(), kMostRelated);
  for (size_t i = 0; i < related; ++i) {
    line("also", describe(finding.related[i].where) + ": " + finding.related[i].message);
  }
  if (related < finding.related.size()) {
    line("also", fmt::format("{} (--all prints them)", counted(finding.related.size() - related, "more location")));
  }
  if (with_fix && !finding.fix.empty()) line("fix", finding.fix);
}

// What findings of one rule have in common, said once.
void add_fix(std::string& text, const Finding& finding, const Style& style, bool with_fix) {
  const auto line = [&](std::string_view name, const std::string& body) {
    text += "  " + style(Style::Look::kBold, fmt::format("{}:", name)) + " " + printable(body) + "\n";
  };
  if (!finding.consequence.empty()) line("consequence", finding.consequence);
  if (with_fix && !finding.fix.empty()) line("fix", finding.fix);
  for (const std::string& command : finding.commands) line("help", command);
}

// Findings that are alike in all but their location, in the order in which each kind is met.
std::vector<std::vector<size_t>> alike(std::span<const Finding> findings, std::span<const size_t> order) {
  std::vector<std::vector<size_t>> groups;
  std::unordered_map<std::string, size_t> known;
  for (const size_t i : order) {
    const auto [at, is_new] = known.try_emplace(pattern_of(findings[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  return groups;
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "note";
}

FindingCounts count(std::span<const Finding> findings) {
  FindingCounts counts;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) ++counts.errors;
    if (finding.severity == Severity::kWarning) ++counts.warnings;
    if (finding.severity == Severity::kNote) ++counts.notes;
  }
  return counts;
}

std::string describe(const FindingCounts& counts) {
  std::string text;
  const auto add = [&](size_t n, std::string_view noun) {
    if (n > 0) text += (text.empty() ? "" : ", ") + counted(n, noun);
  };
  add(counts.errors, "error");
  add(counts.warnings, "warning");
  add(counts.notes, "note");
  return text.empty() ? "no findings" : text;
}

bool worth_failing(const FindingCounts& counts) { return counts.errors + counts.warnings > 0; }

std::string describe(const Location& location) {
  std::string text;
  if (!location.node.empty()) {
    text = fmt::format("{} '{}'", location.op.empty() ? "node" : location.op, location.node);
  } else {
    text = location.op;
  }
  if (!location.tensor.empty()) text += fmt::format("{}tensor '{}'", text.empty() ? "" : ", ", location.tensor);
  if (!location.graph.empty()) text += fmt::format("{}in {}", text.empty() ? "" : ", ", location.graph);
  return text.empty() ? "the model" : printable(text);
}

std::vector<std::string> settings_sentences(const CheckSettings& settings) {
  std::vector<std::string> sentences;
  if (!settings.applied.empty())
    sentences.push_back(fmt::format("settings of {}: {}", settings.file, fmt::join(settings.applied, ", ")));
  for (const std::string& clause : settings.ignored) sentences.push_back("settings: " + clause);
  return sentences;
}

std::map<std::string_view, size_t> counts_by_rule(std::span<const Finding> findings) {
  std::map<std::string_view, size_t> counts;
  for (const Finding& finding : findings) ++counts[finding.code];
  return counts;
}

std::string by_rule(std::span<const Finding> findings) {
  std::string text;
  for (const auto& [code, n] : counts_by_rule(findings))
    text += fmt::format("{}{} ×{}", text.empty() ? "" : ", ", code, n);
  return text;
}

std::vector<size_t> by_severity(std::span<const Finding> findings) {
  std::vector<size_t> order(findings.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return findings[a].severity > findings[b].severity; });
  return order;
}

std::string findings_text(std::string_view model, std::span<const Finding> findings, const Style& style,
                          size_t most_per_rule) {
  std::vector<size_t> order = by_severity(findings);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::tie(findings[b].severity, findings[a].code) < std::tie(findings[a].severity, findings[b].code);
  });
  const bool all = most_per_rule == std::numeric_limits<size_t>::max();
  std::string text = style(Style::Look::kBold, printable(model)) + "\n";
  for (size_t i = 0; i < order.size();) {
    const Finding& first = findings[order[i]];
    const auto of_another_rule = [&](size_t at) {
      return findings[at].code != first.code || findings[at].severity != first.severity;
    };
    const size_t end = static_cast<size_t>(
        std::find_if(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(), of_another_rule) - order.begin());
    text += "\n" + style(look_of(first.severity), fmt::format("{} {}", name_of(first.severity), first.code)) + " " +
            style(Style::Look::kBold, printable(first.title)) + "\n";
    const auto groups = alike(findings, std::span(order).subspan(i, end - i));
    const bool one_fix = std::ranges::all_of(std::span(order).subspan(i, end - i),
                                             [&](size_t at) { return findings[at].fix == first.fix; });
    size_t shown = 0, left = end - i;
    for (; shown < std::min(groups.size(), most_per_rule); ++shown) {
      add_finding(text, findings, groups[shown], style, all, !one_fix);
      left -= groups[shown].size();
    }
    if (left > 0) text += fmt::format("  … and {} more (--all prints them)\n", left);
    add_fix(text, first, style, one_fix);
    i = end;
  }
  text += fmt::format("{}{}\n", findings.empty() ? "  " : "\n", describe(count(findings)));
  return text;
}

void write_findings(JsonWriter& json, std::span<const Finding> findings) {
  json.member_array("findings");
  for (const size_t i : by_severity(findings)) {
    const Finding& finding = findings[i];
    json.begin_object();
    json.member("code", finding.code);
    json.member("severity", name_of(finding.severity));
    json.member("title", finding.title);
    json.member("message", finding.message);
    write_location(json, finding.where);
    json.optional_member("source", finding.source);
    json.optional_member("fix", finding.fix);
    json.optional_member("consequence", finding.consequence);
    if (!finding.commands.empty()) {
      json.member_array("commands");
      for (const std::string& command : finding.commands) json.value(command);
      json.end_array();
    }
    if (!finding.related.empty()) {
      json.member_array("related");
      for (const Related& related : finding.related) {
        json.begin_object(JsonWriter::Layout::kLine);
        write_location(json, related.where);
        json.member("message", related.message);
        json.end_object();
      }
      json.end_array();
    }
    if (!finding.details.empty()) {
      json.member_object("details");
      for (const auto& [name, body] : finding.details) json.member(name, body);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  const FindingCounts counts = count(findings);
  json.member_object("counts", JsonWriter::Layout::kLine);
  json.member("errors", counts.errors);
  json.member("warnings", counts.warnings);
  json.member("notes", counts.notes);
  json.end_object();
}

}  // namespace thaw::report
