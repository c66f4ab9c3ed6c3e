#include "thaw/cli/help.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "thaw/cli/options.h"
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

std::unique_ptr<CLI::App> make_app(const Verb& verb, Action* action, CommonOptions* common) {
  auto app = std::make_unique<CLI::App>(std::string(verb.summary), "thaw " + std::string(verb.name));
  app->set_help_flag("-h,--help", "print this");
  Action defined = verb.define(*app);
  if (action != nullptr) *action = std::move(defined);
  static CommonOptions unparsed;
  CommonOptions& options = common != nullptr ? *common : unparsed;
  using enum report::Style::Choice;
  app->add_flag("-q,--quiet", options.quiet, "print nothing where all is well");
  app->add_flag("-v,--verbose", options.verbose, "say on stderr how long each phase took");
  add_choice<report::Style::Choice>(*app, "--color", options.color,
                                    {{"auto", kAuto}, {"always", kAlways}, {"never", kNever}},
                                    "colour: on a terminal, or whatever it goes to (auto)");
  return app;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string names_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return names;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = takes_value(option) ? type_of(option) : "";
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  std::istringstream stream(type);
  for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
  return words;
}

std::string help_of(const Verb& verb, const CLI::App& app) {
  std::string usage = fmt::format("Usage: thaw {}", verb.name);
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : app.get_options()) {
    const std::string names = names_of(*option);
    if (option->get_positional()) {
      usage += option->get_required() ? " " + names : " [" + names + "]";
      if (option->get_expected_max() > 1) usage += "...";
      add_row(arguments, names, option->get_description());
    } else if (takes_value(*option)) {
      add_row(options, names + " " + type_of(*option), option->get_description());
    } else {
      add_row(options, names, option->get_description());
    }
  }
  std::string text = fmt::format("thaw {}: {}\n\n{} [options]\n", verb.name, verb.summary, usage);
  if (!arguments.empty()) text += "\n" + arguments;
  text += "\nOptions\n" + options;
  std::istringstream examples(app.get_footer());
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
  add_row(text, "--version", "print the version");
  text +=
      "\nExit codes: 0 fine, 1 findings or a failed comparison, 2 the input or the call is wrong.\n"
      "With --format json, an error is an object on stdout too.\n";
  return text;
}

}  // namespace thaw::cli
