#include "thaw/report/style.h"

#include <cstdlib>

#include <unistd.h>

namespace thaw::report {

Style Style::of(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused =
      (no_color != nullptr && *no_color != '\0') || (term != nullptr && std::string_view(term) == "dumb");
  return Style(!refused && isatty(fd) == 1);
}

std::string Style::operator()(Look look, std::string_view text) const {
  if (!colour_) return std::string(text);
  constexpr std::string_view kCodes[] = {"1", "2", "1;31", "33", "32", "36"};
  std::string dressed("\x1b[");
  dressed.append(kCodes[static_cast<size_t>(look)]).append("m").append(text).append("\x1b[0m");
  return dressed;
}

}  // namespace thaw::report
