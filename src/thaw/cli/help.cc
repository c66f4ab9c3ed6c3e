#include "thaw/cli/help.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/report/fit.h"
#include "thaw/report/printable.h"
#include "thaw/version.h"

namespace thaw::cli {
namespace {

constexpr size_t kColumn = 28;     // of what an option does
constexpr size_t kNarrowest = 60;  // what is asked to fit less is broken no further

// The width of what is printed; without a terminal lines stay whole.
size_t columns() {
  const size_t known = report::columns_of(STDOUT_FILENO);
  return known == 0 ? 1000 : std::max(known, kNarrowest);
}

// The words of a text in lines, which begin at a column.
std::string broken(std::string_view text, size_t column) {
  std::string out;
  size_t width = column;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const size_t length = report::width_of(word);
    const bool begins = width == column;
    if (!begins && width + 1 + length > columns()) {
      out += fmt::format("\n{:{}}", "", column);
      width = column;
    } else if (!begins) {
      out += ' ';
      ++width;
    }
    out += word;
    width += length;
  }
  return out + "\n";
}

// Two columns: what one types, and what it does. Where the first is too wide, the second starts on a line of its own.
void add_row(std::string& text, const std::string& left, std::string_view right) {
  const size_t width = report::width_of(left);
  if (width + 4 <= kColumn)  // two blanks before it and behind
    text += fmt::format("  {}{:{}}", left, "", kColumn - 2 - width);
  else
    text += fmt::format("  {}\n{:{}}", left, "", kColumn);
  text += broken(right, kColumn);
}

void add_option(std::string& text, const OptionInfo& option) {
  const std::string names = option.names();
  add_row(text, option.takes_value() && option.position.empty() ? names + " " + option.type : names, option.help);
}

// "thaw fix MODEL [options]".
std::string usage_of(const Verb& verb, const std::vector<OptionInfo>& all) {
  std::string usage = fmt::format("thaw {}", verb.name);
  for (const OptionInfo& option : all) {
    if (!option.position.empty())
      usage += fmt::format(fmt::runtime(option.is_required ? " {}{}" : " [{}{}]"), option.position,
                           option.repeats ? "..." : "");
    else if (option.is_required)
      usage += fmt::format(" --{} {}", option.long_names.front(), option.type);
  }
  return usage + " [options]";
}

// What both helps begin with.
std::string opening(const Verb& verb, const Options& options, const std::vector<OptionInfo>& all) {
  std::string text = broken(fmt::format("thaw {}: {}.", verb.name, verb.summary), 0) + broken(options.use(), 0);
  text += fmt::format("\nUsage: {}\n\nExamples\n", usage_of(verb, all));
  std::istringstream examples(options.examples());
  for (std::string line; std::getline(examples, line);) text += "  " + line + "\n";
  return text;
}

}  // namespace

std::vector<std::string> headings_of(const std::vector<OptionInfo>& all) {
  // What a verb is about comes first, in its own order.
  constexpr std::string_view kLast[] = {"Output", "Check", "ONNX Runtime", "Report", "Limits", kGeneral};
  std::vector<std::string> headings;
  for (const OptionInfo& option : all)
    if (option.position.empty() && std::ranges::find(headings, option.heading) == headings.end())
      headings.push_back(option.heading);
  std::ranges::stable_sort(headings, {}, [&](const std::string& heading) {
    const auto at = std::ranges::find(kLast, heading);
    return at == std::end(kLast) ? std::ptrdiff_t{-1} : at - std::begin(kLast);
  });
  return headings;
}

std::unique_ptr<Options> declared(const Verb& verb, Action* action, CommonOptions* common) {
  auto options = std::make_unique<Options>(verb.summary, verb.name);
  Action defined = verb.define(*options);
  if (action != nullptr) *action = std::move(defined);
  static CommonOptions unparsed;
  CommonOptions& shared = common != nullptr ? *common : unparsed;
  using enum report::Style::Choice;
  options->heading(std::string(kGeneral));
  options->flag("-q,--quiet", shared.quiet, "print nothing where the exit code is 0");
  options->flag("-v,--verbose", shared.verbose, "print on stderr how long each phase took");
  options->choice<report::Style::Choice>("--color", shared.color,
                                         {{"auto", kAuto}, {"always", kAlways}, {"never", kNever}},
                                         "colour: on a terminal, always or never (auto)");
  return options;
}

std::string help_of(const Verb& verb, const Options& options) {
  const std::vector<OptionInfo> all = options.all();
  std::string text = opening(verb, options, all), arguments;
  for (const OptionInfo& option : all)
    if (!option.position.empty()) add_option(arguments, option);
  if (!arguments.empty()) text += "\nArguments\n" + arguments;
  for (const std::string& heading : headings_of(all)) {
    text += fmt::format("\n{}\n", heading);
    for (const OptionInfo& option : all)
      if (option.position.empty() && option.heading == heading) add_option(text, option);
  }
  return text;
}

std::string short_help_of(const Verb& verb, const Options& options) {
  const std::vector<OptionInfo> all = options.all();
  std::string text = opening(verb, options, all) + "\nCommon options\n";
  for (const OptionInfo& option : all)
    if (option.is_common) add_option(text, option);
  return text + fmt::format("\nAll options: thaw {} --help\n", verb.name);
}

std::string help_of_command(std::span<const Verb> verbs) {
  std::string text = fmt::format(
      "thaw {}: make static ONNX models dynamic, batchable and smaller, and check every result\n\n"
      "Usage: thaw VERB [options]\n",
      kVersion);
  std::string_view group;
  for (const Verb& verb : verbs) {
    if (verb.group != group) text += fmt::format("\n{}\n", group = verb.group);
    add_row(text, std::string(verb.name), verb.summary);
  }
  text += "\nOptions\n";
  add_row(text, "-h, --help", "print this; `thaw VERB -h` the commonest options of a verb, `thaw VERB --help` all");
  add_row(text, "--version", "print the version; with --verbose also the sandbox of this kernel");
  text +=
      "\nExit codes: 0 fine, 1 findings or a failed comparison, 2 the input or the call is wrong.\n"
      "With --format json, an error is an object on stdout too.\n";
  return text;
}

}  // namespace thaw::cli
