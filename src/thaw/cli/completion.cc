// thaw completion: a completion script for bash, zsh or fish, made from what the verbs declare.
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/help.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

enum class Shell : uint8_t { kNone, kBash, kZsh, kFish };

// "'it'\''s'": one word for either shell.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// The same for fish, which knows \\' and \\\\ inside of quotes.
std::string fish_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return word + "'";
}

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_snames()) words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.push_back("--" + name);
  return words;
}

bool is_path(const CLI::Option& option) {
  return takes_value(option) && (type_of(option) == "FILE" || type_of(option) == "FOLDER");
}

std::vector<std::string> positional_choices(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) return choices_of(*option);
  }
  return {};
}

std::string bash_values(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return fmt::format("_thaw_words '{}'", fmt::join(choices, " "));
  return is_path(option) ? "_thaw_files" : ":";
}

std::string bash_script() {
  std::string values;   // after an option that takes a value
  std::string options;  // a verb's options, and what stands for its arguments
  std::string names;
  for (const Verb& verb : all_verbs()) {
    const auto app = make_app(verb);
    names += std::string(verb.name) + " ";
    std::vector<std::string> words;
    for (const CLI::Option* option : app->get_options()) {
      std::string pattern;
      for (const std::string& word : spellings(*option)) {
        words.push_back(word);
        pattern += fmt::format("{}{}:{}", pattern.empty() ? "" : "|", verb.name, word);
      }
      if (pattern.empty() || !takes_value(*option)) continue;
      values += fmt::format("    {}) {}; return ;;\n", pattern, bash_values(*option));
    }
    const std::vector<std::string> choices = positional_choices(*app);
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

std::string zsh_action(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return fmt::format("({})", fmt::join(choices, " "));
  return is_path(option) ? "_files" : " ";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Verb& verb : all_verbs()) {
    const auto app = make_app(verb);
    names += fmt::format("    {}\n", shell_word(fmt::format("{}:{}", verb.name, zsh_text(verb.summary))));
    cases += fmt::format("    {})\n      _arguments -s", verb.name);
    for (const CLI::Option* option : app->get_options()) {
      const std::string type = zsh_text(type_of(*option));
      const std::string text = zsh_text(option->get_description());
      if (option->get_positional()) {
        const std::string each = option->get_expected_max() > 1 ? "*:" : ":";
        cases += " \\\n        " +
                 shell_word(fmt::format("{}{}:{}", each, zsh_text(names_of(*option)), zsh_action(*option)));
        continue;
      }
      for (const std::string& word : spellings(*option)) {
        // "--name=" takes its value as the next word or after the sign; "-n" as the next word.
        const std::string name = takes_value(*option) && word.starts_with("--") ? word + "=" : word;
        const std::string value = takes_value(*option) ? fmt::format(":{}:{}", type, zsh_action(*option)) : "";
        const std::string repeat = option->get_expected_max() > 1 ? "*" : "";
        cases += " \\\n        " + shell_word(fmt::format("{}{}[{}]{}", repeat, name, text, value));
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
    const auto app = make_app(verb);
    if (const auto choices = positional_choices(*app); !choices.empty())
      lines += fmt::format("{} -f -a {}\n", of_verb, fish_word(fmt::format("{}", fmt::join(choices, " "))));
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) continue;
      std::string line = of_verb;
      for (const std::string& name : option->get_snames()) line += " -s " + name;
      for (const std::string& name : option->get_lnames()) line += " -l " + name;
      const std::vector<std::string> choices = choices_of(*option);
      if (!choices.empty())
        line += " -x -a " + fish_word(fmt::format("{}", fmt::join(choices, " ")));
      else if (takes_value(*option))
        line += is_path(*option) ? " -r -F" : " -x";
      lines += line + " -d " + fish_word(option->get_description()) + "\n";
    }
  }
  return "# fish completion for thaw: thaw completion fish >~/.config/fish/completions/thaw.fish\n" + lines +
         "complete -c thaw -n __fish_use_subcommand -f -a help -d 'says how a verb is used'\n"
         "complete -c thaw -n __fish_use_subcommand -l version -d 'print the version'\n";
}

}  // namespace

Action define_completion(CLI::App& app) {
  auto shell = std::make_shared<Shell>(Shell::kNone);
  add_choice<Shell>(app, "SHELL", *shell, {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}},
                    "bash, zsh or fish")
      ->required();
  app.footer("source <(thaw completion bash)");
  return [shell] {
    write_output(*shell == Shell::kBash ? bash_script() : *shell == Shell::kZsh ? zsh_script() : fish_script());
    return kFine;
  };
}

}  // namespace thaw::cli
