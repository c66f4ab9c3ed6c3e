// thaw completion: a completion script for bash, zsh or fish, the man page, or the table of options, made from what the verbs
// declare.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/help.h"
#include "thaw/cli/man_page.h"
#include "thaw/cli/options.h"
#include "thaw/cli/options_table.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/shell_word.h"

namespace thaw::cli {
namespace {

enum class Shell : uint8_t { kNone, kBash, kZsh, kFish, kMan, kTable };

// One word for fish, which knows \\' and \\\\ inside of quotes.
std::string fish_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return word + "'";
}

std::vector<std::string> spellings(const OptionInfo& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.short_names) words.push_back("-" + name);
  for (const std::string& name : option.long_names) words.push_back("--" + name);
  return words;
}

std::vector<std::string> positional_choices(const std::vector<OptionInfo>& options) {
  const auto at = std::ranges::find_if(options, [](const OptionInfo& option) { return !option.position.empty(); });
  return at == options.end() ? std::vector<std::string>() : at->choices();
}

std::string bash_values(const OptionInfo& option) {
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) return fmt::format("_thaw_words '{}'", fmt::join(choices, " "));
  return option.is_path() ? "_thaw_files" : ":";
}

std::string bash_script() {
  std::string values;   // after an option that takes a value
  std::string options;  // a verb's options, and what stands for its arguments
  std::string names;
  for (const Verb& verb : all_verbs()) {
    const std::vector<OptionInfo> all = declared(verb)->all();
    names += std::string(verb.name) + " ";
    std::vector<std::string> words;
    for (const OptionInfo& option : all) {
      std::string pattern;
      for (const std::string& word : spellings(option)) {
        words.push_back(word);
        pattern += fmt::format("{}{}:{}", pattern.empty() ? "" : "|", verb.name, word);
      }
      if (pattern.empty() || !option.takes_value()) continue;
      values += fmt::format("    {}) {}; return ;;\n", pattern, bash_values(option));
    }
    const std::vector<std::string> choices = positional_choices(all);
    const std::string arguments =
        choices.empty() ? "_thaw_files" : fmt::format("_thaw_words '{}'", fmt::join(choices, " "));
    options += fmt::format("    {})\n      if [[ $cur == -* ]]; then _thaw_words '{}'; else {}; fi ;;\n", verb.name,
                           fmt::join(words, " "), arguments);
  }
  return fmt::format(R"(# bash completion for thaw. In ~/.bashrc: source <(thaw completion bash)
_thaw_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_thaw_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}}
_thaw() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  # --format=json comes as three words: --format, =, json.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if ((COMP_CWORD == 1)); then
    _thaw_words '{}help --help --version'
    return
  fi
  case ${{COMP_WORDS[1]}}:$before in
{}  esac
  case ${{COMP_WORDS[1]}} in
{}    help) _thaw_words '{}' ;;
  esac
}}
complete -F _thaw thaw
)",
                     names, values, options, names);
}

// Text inside [...] or :...: of an _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh_action(const OptionInfo& option) {
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) return fmt::format("({})", fmt::join(choices, " "));
  return option.is_path() ? "_files" : " ";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Verb& verb : all_verbs()) {
    const std::vector<OptionInfo> all = declared(verb)->all();
    names += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", verb.name, zsh_text(verb.summary))));
    cases += fmt::format("    {})\n      _arguments -s", verb.name);
    for (const OptionInfo& option : all) {
      const std::string type = zsh_text(option.type);
      const std::string text = zsh_text(option.help);
      if (!option.position.empty()) {
        const std::string each = option.repeats ? "*:" : ":";
        cases +=
            " \\\n        " + shell_quoted(fmt::format("{}{}:{}", each, zsh_text(option.names()), zsh_action(option)));
        continue;
      }
      for (const std::string& word : spellings(option)) {
        // "--name=" takes its value as the next word or after the sign; "-n" as the next word.
        const std::string name = option.takes_value() && word.starts_with("--") ? word + "=" : word;
        const std::string value = option.takes_value() ? fmt::format(":{}:{}", type, zsh_action(option)) : "";
        const std::string repeat = option.repeats ? "*" : "";
        cases += " \\\n        " + shell_quoted(fmt::format("{}{}[{}]{}", repeat, name, text, value));
      }
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef thaw
# zsh completion for thaw. In a folder of $fpath: thaw completion zsh >_thaw; or in ~/.zshrc: source <(thaw completion zsh)
_thaw() {{
  local -a verbs=(
{}    'help:says how a verb is used'
  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{}    help) ((CURRENT == 2)) && _describe verb verbs ;;
  esac
}}
if [[ $funcstack[1] == _thaw ]]; then _thaw "$@"; else compdef _thaw thaw; fi
)",
                     names, cases);
}

std::string fish_script() {
  std::string lines;
  for (const Verb& verb : all_verbs()) {
    lines += fmt::format("complete -c thaw -n __fish_use_subcommand -a {} -d {}\n", verb.name, fish_word(verb.summary));
    const std::string of_verb = fmt::format("complete -c thaw -n '__fish_seen_subcommand_from {}'", verb.name);
    const std::vector<OptionInfo> all = declared(verb)->all();
    if (const auto choices = positional_choices(all); !choices.empty())
      lines += fmt::format("{} -f -a {}\n", of_verb, fish_word(fmt::format("{}", fmt::join(choices, " "))));
    for (const OptionInfo& option : all) {
      if (!option.position.empty()) continue;
      std::string line = of_verb;
      for (const std::string& name : option.short_names) line += " -s " + name;
      for (const std::string& name : option.long_names) line += " -l " + name;
      const std::vector<std::string> choices = option.choices();
      if (!choices.empty())
        line += " -x -a " + fish_word(fmt::format("{}", fmt::join(choices, " ")));
      else if (option.takes_value())
        line += option.is_path() ? " -r -F" : " -x";
      lines += line + " -d " + fish_word(option.help) + "\n";
    }
  }
  return "# fish completion for thaw: thaw completion fish >~/.config/fish/completions/thaw.fish\n" + lines +
         "complete -c thaw -n __fish_use_subcommand -f -a help -d 'says how a verb is used'\n"
         "complete -c thaw -n __fish_use_subcommand -l version -d 'print the version'\n";
}

}  // namespace

Action define_completion(Options& options) {
  auto shell = std::make_shared<Shell>(Shell::kNone);
  options.use("Use it once, in the shell's start-up file; man and table print the options as a page.");
  options.choice<Shell>("WHAT", *shell,
                        {{"bash", Shell::kBash},
                         {"zsh", Shell::kZsh},
                         {"fish", Shell::kFish},
                         {"man", Shell::kMan},
                         {"table", Shell::kTable}},
                        "a shell; man: the page thaw(1); table: verbs and options, as Markdown");
  options.examples(
      "source <(thaw completion bash)\n"
      "thaw completion fish >~/.config/fish/completions/thaw.fish\n"
      "thaw completion man | man -l -");
  return [shell] {
    switch (*shell) {
      case Shell::kBash:
        write_output(bash_script());
        break;
      case Shell::kZsh:
        write_output(zsh_script());
        break;
      case Shell::kFish:
        write_output(fish_script());
        break;
      case Shell::kMan:
        write_output(man_page());
        break;
      case Shell::kTable:
        write_output(options_table());
        break;
      case Shell::kNone:
        return kWrong;
    }
    return kFine;
  };
}

}  // namespace thaw::cli
