#include "thaw/check/causes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace thaw::checking {
namespace {

bool is_worse(const Finding& a, const Finding& b) {
  return a.severity != b.severity ? a.severity > b.severity : a.code < b.code;
}

// The clauses of all that are as bad, each once.
void add_clause(std::string& text, const std::string& clause) {
  if (clause.empty() || text.find(clause) != std::string::npos) return;
  text += (text.empty() ? "" : "; ") + clause;
}

void add_other(Finding& worst, Finding&& other) {
  if (other.severity == worst.severity) {
    add_clause(worst.consequence, other.consequence);
    add_clause(worst.fix, other.fix);
  }
  for (std::string& command : other.commands)
    if (std::ranges::find(worst.commands, command) == worst.commands.end())
      worst.commands.push_back(std::move(command));
  worst.related.push_back({std::move(other.where), fmt::format("{}: {}", other.code, other.message)});
}

Finding merged(std::vector<Finding> group) {
  std::ranges::stable_sort(group, is_worse);
  Finding worst = std::move(group.front());
  std::map<std::string, std::pair<size_t, std::string>> by_code;  // how many, and the first's message
  for (size_t i = 1; i < group.size(); ++i) {
    const auto at = by_code.try_emplace(group[i].code, 0, group[i].message).first;
    ++at->second.first;
    add_other(worst, std::move(group[i]));
  }
  for (const auto& [code, found] : by_code) {
    const auto& [count, first] = found;
    if (code == worst.code)
      worst.message += fmt::format("; {} more of this rule", count);
    else
      worst.details.emplace_back(code, count == 1 ? first : fmt::format("{} locations, the first: {}", count, first));
  }
  return worst;
}

}  // namespace

std::vector<Finding> merge_causes(std::vector<Finding> findings) {
  std::vector<std::vector<Finding>> groups;
  std::unordered_map<std::string, size_t> known;
  for (Finding& finding : findings) {
    size_t at = groups.size();
    const auto cause = std::ranges::find(finding.details, kCause, &std::pair<std::string, std::string>::first);
    if (cause != finding.details.end()) at = known.try_emplace(cause->second, at).first->second;
    if (at == groups.size()) groups.emplace_back();
    groups[at].push_back(std::move(finding));
  }
  std::vector<Finding> result;
  result.reserve(groups.size());
  for (std::vector<Finding>& group : groups) result.push_back(merged(std::move(group)));
  return result;
}

}  // namespace thaw::checking
