#include "thaw/core/shell_word.h"

#include <algorithm>

#include "thaw/core/ascii.h"

namespace thaw {
namespace {

bool is_plain(char c) {
  return ascii::is_letter_or_digit(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("_-./+,:@").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string shell_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_plain) ? std::string(text) : shell_quoted(text);
}

std::string shell_path(std::string_view path) {
  return path.starts_with('-') ? "./" + shell_quoted(path) : shell_word(path);
}

}  // namespace thaw
