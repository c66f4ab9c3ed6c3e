#include "thaw/report/style.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace thaw::report {

namespace {

Style::Choice chosen = Style::Choice::kAuto;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

struct OutcomeWord {
  std::string_view word;
  Style::Look look;
};
constexpr OutcomeWord kOutcomeWords[] = {
    {"error:", Style::Look::kRed},           {"thaw:", Style::Look::kRed},           {"DIFFERS", Style::Look::kRed},
    {"differs", Style::Look::kRed},          {"fails", Style::Look::kRed},           {"model fails", Style::Look::kRed},
    {"reference fails", Style::Look::kRed},  {"failed:", Style::Look::kRed},         {"warning:", Style::Look::kYellow},
    {"not compared:", Style::Look::kYellow}, {"not checked:", Style::Look::kYellow}, {"note:", Style::Look::kCyan},
    {"agrees", Style::Look::kGreen},         {"wrote", Style::Look::kGreen},
};

// The word that the line begins with, and nothing that only begins so.
const OutcomeWord* outcome_of(std::string_view line) {
  for (const OutcomeWord& one : kOutcomeWords)
    if (line.starts_with(one.word) && (line.size() == one.word.size() || line[one.word.size()] == ' ')) return &one;
  return nullptr;
}

}  // namespace

void Style::choose(Choice choice) { chosen = choice; }

Style Style::of(int fd) {
  if (chosen != Choice::kAuto) return Style(chosen == Choice::kAlways);
  if (is_set("NO_COLOR")) return Style(false);
  if (is_set("FORCE_COLOR")) return Style(std::string_view(std::getenv("FORCE_COLOR")) != "0");
  const char* term = std::getenv("TERM");
  return Style(isatty(fd) == 1 && !(term != nullptr && std::string_view(term) == "dumb"));
}

std::string Style::operator()(Look look, std::string_view text) const {
  if (!colour_) return std::string(text);
  constexpr std::string_view kCodes[] = {"1", "2", "1;31", "33", "32", "36"};
  std::string dressed("\x1b[");
  dressed.append(kCodes[static_cast<size_t>(look)]).append("m").append(text).append("\x1b[0m");
  return dressed;
}

std::string dress_outcomes(std::string_view text, const Style& style) {
  if (!style.colour()) return std::string(text);
  std::string dressed;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const OutcomeWord* outcome = outcome_of(line.substr(indent, line.find_last_not_of('\n') + 1 - indent));
    const size_t length = outcome ? outcome->word.size() : 0;
    dressed.append(line.substr(0, indent));
    if (outcome) dressed += style(outcome->look, outcome->word);
    dressed.append(line.substr(indent + length));
    at = end;
  }
  return dressed;
}

}  // namespace thaw::report
