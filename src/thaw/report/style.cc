#include "thaw/report/style.h"

#include <cstdlib>

#include <unistd.h>

namespace thaw::report {

namespace {

Style::Choice chosen = Style::Choice::kAuto;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
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

}  // namespace thaw::report
