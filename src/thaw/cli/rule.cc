// thaw rule: what a rule of `check` means, without a network or the docs at hand.
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/check.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/report/findings.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"

namespace thaw::cli {
namespace {

struct RuleArguments {
  std::string code;
  Format format = Format::kText;
};

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

std::string rules_text() {
  report::Table table(72);
  for (const RuleInfo& rule : rules())
    table.add({std::string(rule.code), std::string(report::name_of(rule.severity)), std::string(rule.title)});
  return table.text() + "\n`thaw rule CODE` explains one; `thaw check MODEL --select CODE` looks for it.\n";
}

void write_rule(report::JsonWriter& json, const RuleInfo& rule) {
  json.begin_object();
  json.member("code", rule.code);
  json.member("severity", report::name_of(rule.severity));
  json.member("title", rule.title);
  json.member("page", rule.page);
  json.end_object();
}

const RuleInfo* find_rule(const std::vector<RuleInfo>& all, std::string code) {
  for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (!code.starts_with("THAW")) code = "THAW" + code;
  for (const RuleInfo& rule : all)
    if (rule.code == code) return &rule;
  return nullptr;
}

int explain_rule(const RuleArguments& options) {
  const std::vector<RuleInfo> all = rules();
  const RuleInfo* rule = options.code.empty() ? nullptr : find_rule(all, options.code);
  if (!options.code.empty() && rule == nullptr) {
    std::vector<std::string_view> known;
    for (const RuleInfo& each : all) known.push_back(each.code);
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "there is no rule '" + options.code + "'" + did_you_mean(options.code, known),
                 .where = "thaw rule",
                 .expected = "a code such as THAW003",
                 .next = "`thaw rule` lists them"});
  }
  std::string text;
  if (options.format == Format::kJson) {
    report::JsonWriter json(text);
    if (rule != nullptr) {
      write_rule(json, *rule);
    } else {
      json.begin_object();
      json.member_array("rules");
      for (const RuleInfo& each : all) write_rule(json, each);
      json.end_array();
      json.end_object();
    }
    text += "\n";
  } else if (rule == nullptr) {
    text = rules_text();
  } else {
    const report::Style style = report::Style::of(STDOUT_FILENO);
    text = style(report::Style::Look::kBold, fmt::format("{} {}", rule->code, rule->title)) +
           fmt::format(" ({})\n\n{}\n", report::name_of(rule->severity), as_paragraphs(without_links(rule->page)));
  }
  write_output(text);
  return kFine;
}

}  // namespace

Action define_rule(CLI::App& app) {
  auto options = std::make_shared<RuleArguments>();
  app.add_option("CODE", options->code, "the rule, such as THAW003; all of them by default")->type_name("CODE");
  add_format(app, options->format);
  app.footer(
      "thaw rule THAW003\n"
      "thaw rule");
  return [options] { return explain_rule(*options); };
}

}  // namespace thaw::cli
