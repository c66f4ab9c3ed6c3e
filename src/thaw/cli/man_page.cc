#include "thaw/cli/man_page.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/help.h"
#include "thaw/cli/options.h"
#include "thaw/cli/verb.h"
#include "thaw/version.h"

namespace thaw::cli {
namespace {

// Of UTF-8 that begins with a character of several bytes.
uint32_t first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  uint32_t code = byte(0) & (0xffU >> (length + 1));
  for (size_t i = 1; i < length && i < text.size(); ++i) code = (code << 6) | (byte(i) & 0x3fU);
  return code;
}

// Text of a page: a dash is one that can be copied, and no line begins as a request does.
std::string roff(std::string_view text) {
  std::string safe;
  for (const char& c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '~')
      safe += "\\(ti";
    else if (c == '^')
      safe += "\\(ha";
    else if (c == '`')
      safe += "\\(ga";
    else if (c == '\'')
      safe += "\\(aq";
    else if (static_cast<unsigned char>(c) < 0x80)
      safe += c;
    else if (static_cast<unsigned char>(c) >= 0xc0)  // the first byte of a character
      safe += fmt::format("\\[u{:04X}]", first_code_point(text.substr(static_cast<size_t>(&c - text.data()))));
  }
  return safe.starts_with('.') ? "\\&" + safe : safe;
}

// "\fB\-o\fR, \fB\-\-output\fR \fIFILE\fR".
std::string names_in_roff(const OptionInfo& option) {
  if (!option.position.empty()) return fmt::format("\\fI{}\\fR", roff(option.position));
  std::string text;
  const auto add = [&](std::string_view dashes, const std::string& name) {
    text += fmt::format("{}\\fB{}\\fR", text.empty() ? "" : ", ", roff(fmt::format("{}{}", dashes, name)));
  };
  for (const std::string& name : option.short_names) add("-", name);
  for (const std::string& name : option.long_names) add("--", name);
  if (!option.takes_value()) return text;
  // A line is broken between choices.
  const std::vector<std::string> choices = option.choices();
  const std::string type = choices.empty() ? option.type : fmt::format("{}", fmt::join(choices, " | "));
  return fmt::format("{} \\fI{}\\fR", text, roff(type));
}

void add_options(std::string& page, const std::vector<OptionInfo>& options) {
  for (const OptionInfo& option : options)
    page += fmt::format(".TP\n{}\n{}\n", names_in_roff(option), roff(option.help));
}

bool is_of_every_verb(const OptionInfo& option) { return option.position.empty() && option.heading == kGeneral; }

void add_verb(std::string& page, const Verb& verb) {
  const std::unique_ptr<Options> options = declared(verb);
  const std::vector<OptionInfo> all = options->all();
  page += fmt::format(".SS \"thaw {}\"\n{}.\n{}\n", verb.name, roff(verb.summary), roff(options->use()));
  page += ".PP\n.nf\n";
  std::istringstream examples(options->examples());
  for (std::string line; std::getline(examples, line);) page += roff(line) + "\n";
  page += ".fi\n";
  std::vector<OptionInfo> shown = all;
  std::erase_if(shown, [](const OptionInfo& option) { return option.position.empty(); });
  add_options(page, shown);
  for (const std::string& heading : headings_of(all)) {
    if (heading == kGeneral) continue;
    shown = all;
    std::erase_if(shown,
                  [&](const OptionInfo& option) { return !option.position.empty() || option.heading != heading; });
    page += fmt::format(".PP\n\\fB{}\\fR\n", roff(heading));
    add_options(page, shown);
  }
}

}  // namespace

std::string man_page() {
  std::string page = fmt::format(".TH THAW 1 \"\" \"thaw {}\" \"User Commands\"\n", roff(kVersion));
  page +=
      ".SH NAME\nthaw \\- make ONNX models dynamic, batchable and smaller, and check every result against the "
      "original\n"
      ".SH SYNOPSIS\n\\fBthaw\\fR \\fIVERB\\fR [\\fIoptions\\fR]\n"
      ".SH VERBS\n";
  for (const Verb& verb : all_verbs()) page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", verb.name, roff(verb.summary));
  page += ".SH \"OPTIONS OF EVERY VERB\"\n";
  std::vector<OptionInfo> common = declared(all_verbs().front())->all();
  std::erase_if(common, [](const OptionInfo& option) { return !is_of_every_verb(option); });
  add_options(page, common);
  page += ".SH \"THE VERBS\"\n";
  for (const Verb& verb : all_verbs()) add_verb(page, verb);
  page +=
      ".SH \"EXIT STATUS\"\n.TP\n0\nfine\n.TP\n1\nfindings, or a comparison that failed\n"
      ".TP\n2\nthe input or the call is wrong\n";
  return page;
}

}  // namespace thaw::cli
