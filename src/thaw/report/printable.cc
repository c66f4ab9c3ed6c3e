#include "thaw/report/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <utf8proc.h>

namespace thaw::report {

namespace {

// The character that `text` starts with, and how many bytes it takes: 0 where it starts with none.
struct Character {
  utf8proc_int32_t code = -1;
  size_t length = 0;
};

Character first_character(std::string_view text) {
  Character first;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &first.code);
  first.length = static_cast<size_t>(std::max<utf8proc_ssize_t>(length, 0));
  return first;
}

}  // namespace

size_t utf8_length(std::string_view text) { return first_character(text).length; }

uint32_t hidden_code(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return 0;
  const auto code = static_cast<uint32_t>(first_character(text).code);
  const bool turns = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return turns || (code >= 0x80 && code < 0xa0) ? code : 0;
}

size_t width_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    columns += length == 0 ? 1 : static_cast<size_t>(utf8proc_charwidth(code));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return columns;
}

std::string printable(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    const uint32_t hidden = length == 0 ? 0 : hidden_code(text.substr(i));
    const bool c1 = hidden != 0 && hidden < 0x100;
    if (hidden != 0 && !c1) {
      line += fmt::format("\\u{:04x}", hidden);
      i += length;
    } else if (length == 0 || c < 0x20 || c == 0x7f || c1) {
      const size_t count = c1 ? 2 : 1;
      for (size_t k = 0; k < count; ++k) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + k]));
      i += count;
    } else {
      line.append(text, i, length);
      i += length;
    }
  }
  return line;
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

}  // namespace thaw::report
