#include "thaw/report/fit.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

constexpr size_t kNarrowest = 40;  // what is asked to fit less is not broken further

// Columns without the escape sequences of colours.
size_t shown_width(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else {
      plain += text[i];
    }
  }
  return width_of(plain);
}

// Where lines that go on begin: under the second column, where the line has two and the first is narrow.
size_t hang_of(std::string_view line, size_t width) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", indent);
  if (gap != std::string_view::npos) {
    const size_t second = line.find_first_not_of(' ', gap);
    if (second != std::string_view::npos) {
      const size_t column = shown_width(line.substr(0, second));
      if (column <= width / 2) return column;
    }
  }
  return indent + 2;
}

void fit_line(std::string& out, std::string_view line, size_t width) {
  if (line.size() <= width || shown_width(line) <= width) {
    out.append(line);
    return;
  }
  const size_t hang = hang_of(line, width);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  out.append(line.substr(0, indent));
  size_t column = indent;
  bool is_first = true;
  for (size_t at = indent; at < line.size();) {
    const size_t blanks_end = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t word_end = std::min(line.find(' ', blanks_end), line.size());
    const std::string_view blanks = line.substr(at, blanks_end - at),
                           word = line.substr(blanks_end, word_end - blanks_end);
    const size_t word_width = shown_width(word);
    if (!is_first && column + blanks.size() + word_width > width && column > hang) {
      out.append("\n").append(hang, ' ');
      column = hang;
    } else {
      out.append(blanks);
      column += blanks.size();
    }
    out.append(word);
    column += word_width;
    is_first = false;
    at = word_end;
  }
}

}  // namespace

std::string fit(std::string_view text, size_t width) {
  if (width == 0) return std::string(text);
  width = std::max(width, kNarrowest);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    fit_line(out, text.substr(at, end - at), width);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

size_t columns_of(int fd) {
  if (isatty(fd) != 1) return 0;
  if (const char* given = std::getenv("COLUMNS"); given != nullptr) {
    size_t columns = 0;
    const std::string_view text(given);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (failed == std::errc() && end == text.data() + text.size() && columns > 0) return columns;
  }
  winsize size{};
  constexpr size_t kUsual = 80;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace thaw::report
