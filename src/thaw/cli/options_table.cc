#include "thaw/cli/options_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/help.h"
#include "thaw/cli/options.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

std::string in_code(std::string_view text) { return fmt::format("`{}`", text); }

}  // namespace

std::string options_table() {
  std::vector<std::string> names;  // in the order in which they are first met
  std::map<std::string, std::set<std::string_view>> verbs_of;
  for (const Verb& verb : all_verbs()) {
    for (const OptionInfo& option : declared(verb)->all()) {
      if (!option.position.empty() || option.heading == kGeneral) continue;
      const std::string name = "--" + option.long_names.front();
      if (verbs_of[name].empty()) names.push_back(name);
      verbs_of[name].insert(verb.name);
    }
  }
  std::vector<std::string_view> with_options;
  for (const Verb& verb : all_verbs())
    if (std::ranges::any_of(verbs_of, [&](const auto& one) { return one.second.contains(verb.name); }))
      with_options.push_back(verb.name);
  std::string head = "| |", rule = "|---|", rows, own;
  for (const std::string_view verb : with_options) {
    head += fmt::format(" {} |", verb);
    rule += ":-:|";
  }
  for (const std::string& name : names) {
    if (verbs_of[name].size() < 2) continue;
    rows += fmt::format("| {} |", in_code(name));
    for (const std::string_view verb : with_options) rows += verbs_of[name].contains(verb) ? " x |" : " |";
    rows += "\n";
  }
  for (const Verb& verb : all_verbs()) {
    std::vector<std::string> alone;
    for (const std::string& name : names)
      if (verbs_of[name].size() == 1 && verbs_of[name].contains(verb.name)) alone.push_back(in_code(name));
    if (!alone.empty()) own += fmt::format("| {} | {} |\n", verb.name, fmt::join(alone, ", "));
  }
  return fmt::format("{}\n{}\n{}\n| verb | options that it alone has |\n|---|---|\n{}", head, rule, rows, own);
}

}  // namespace thaw::cli
