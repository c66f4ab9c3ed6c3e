// The rules of `check`, as `thaw rule` shows them.
#include <fmt/format.h>

#include "thaw/check.h"
#include "thaw/report/findings.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"

namespace thaw {
namespace {

using report::JsonWriter;

// Each paragraph on a line of its own, to be broken where the terminal is: the page's lines end where its file's do.
std::string as_paragraphs(std::string_view page) {
  std::string text;
  for (size_t i = 0; i < page.size(); ++i) {
    const bool is_inside =
        page[i] == '\n' && i > 0 && i + 1 < page.size() && page[i - 1] != '\n' && page[i + 1] != '\n';
    text += is_inside ? ' ' : page[i];
  }
  return text;
}

// Links of the page as their texts: there is nothing to follow on a terminal.
std::string without_links(std::string_view page) {
  std::string text;
  for (size_t at = 0; at < page.size();) {
    const size_t close = page[at] == '[' ? page.find("](", at) : std::string_view::npos;
    const size_t end = close == std::string_view::npos ? close : page.find(')', close);
    const bool is_link =
        end != std::string_view::npos && page.substr(at, close - at).find('\n') == std::string_view::npos;
    if (is_link) {
      text += page.substr(at + 1, close - at - 1);
      at = end + 1;
    } else {
      text += page[at++];
    }
  }
  return text;
}

// Inside an object that is open.
void write_rule(JsonWriter& json, const RuleInfo& rule) {
  json.member("code", rule.code);
  json.member("severity", report::name_of(rule.severity));
  json.member("title", rule.title);
  json.member("page", rule.page);
}

}  // namespace

std::string to_json(std::span<const RuleInfo> rules) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member_array("rules");
  for (const RuleInfo& rule : rules) {
    json.begin_object();
    write_rule(json, rule);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string to_json(const RuleInfo& rule) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  write_rule(json, rule);
  json.end_object();
  return text + "\n";
}

std::string to_text(std::span<const RuleInfo> rules, const TextOptions&) {
  report::Table table(72);
  for (const RuleInfo& rule : rules)
    table.add({std::string(rule.code), std::string(report::name_of(rule.severity)), std::string(rule.title)});
  return table.text() + "\n`thaw rule CODE` explains one; `thaw check MODEL --select CODE` looks for it.\n";
}

std::string to_text(const RuleInfo& rule, const TextOptions& how) {
  const report::Style style(how.colour);
  return style(report::Style::Look::kBold, fmt::format("{} {}", rule.code, rule.title)) +
         fmt::format(" ({})\n\n{}\n", report::name_of(rule.severity), as_paragraphs(without_links(rule.page)));
}

}  // namespace thaw
