#include "thaw/cli/help.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "thaw/version.h"

namespace thaw::cli {
namespace {

// Two columns: what one types, and what it does. Where the first is too wide, the second starts on a line of its own.
void add_row(std::string& text, const std::string& left, std::string_view right) {
  constexpr size_t kColumn = 30;
  if (left.size() + 4 <= kColumn) {  // two blanks before it and behind
    text += fmt::format("  {:<{}}{}\n", left, kColumn - 2, right);
  } else {
    text += fmt::format("  {}\n{:{}}{}\n", left, "", kColumn, right);
  }
}

}  // namespace

std::unique_ptr<Options> declared(const Verb& verb, Action* action, CommonOptions* common) {
  auto options = std::make_unique<Options>(verb.summary, verb.name);
  Action defined = verb.define(*options);
  if (action != nullptr) *action = std::move(defined);
  static CommonOptions unparsed;
  CommonOptions& shared = common != nullptr ? *common : unparsed;
  using enum report::Style::Choice;
  options->flag("-q,--quiet", shared.quiet, "print nothing where all is well");
  options->flag("-v,--verbose", shared.verbose, "say on stderr how long each phase took");
  options->choice<report::Style::Choice>("--color", shared.color,
                                         {{"auto", kAuto}, {"always", kAlways}, {"never", kNever}},
                                         "colour: on a terminal, or whatever it goes to (auto)");
  return options;
}

std::string help_of(const Verb& verb, const Options& options) {
  std::string usage = fmt::format("Usage: thaw {}", verb.name);
  std::string arguments, listed;
  for (const OptionInfo& option : options.all()) {
    const std::string names = option.names();
    if (!option.position.empty()) {
      usage += option.is_required ? " " + names : " [" + names + "]";
      if (option.repeats) usage += "...";
      add_row(arguments, names, option.help);
    } else {
      add_row(listed, option.takes_value() ? names + " " + option.type : names, option.help);
    }
  }
  std::string text = fmt::format("thaw {}: {}\n\n{} [options]\n", verb.name, verb.summary, usage);
  if (!arguments.empty()) text += "\n" + arguments;
  text += "\nOptions\n" + listed;
  std::istringstream examples(options.examples());
  std::string shown;
  for (std::string line; std::getline(examples, line);) shown += "  " + line + "\n";
  if (!shown.empty()) text += (std::ranges::count(shown, '\n') > 1 ? "\nExamples\n" : "\nExample\n") + shown;
  return text;
}

std::string help_of_command(std::span<const Verb> verbs) {
  std::string text = fmt::format(
      "thaw {}: makes ONNX models work at every size, and proves it\n\nUsage: thaw VERB [options]\n", kVersion);
  std::string_view group;
  for (const Verb& verb : verbs) {
    if (verb.group != group) text += fmt::format("\n{}\n", group = verb.group);
    add_row(text, std::string(verb.name), verb.summary);
  }
  text += "\nOptions\n";
  add_row(text, "-h, --help", "print this; `thaw VERB --help` says more of a verb");
  add_row(text, "--version", "print the version; with --verbose, also what this kernel has of a sandbox");
  text +=
      "\nExit codes: 0 fine, 1 findings or a failed comparison, 2 the input or the call is wrong.\n"
      "With --format json, an error is an object on stdout too.\n";
  return text;
}

}  // namespace thaw::cli
