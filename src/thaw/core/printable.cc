#include "thaw/core/printable.h"

#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

namespace thaw {
namespace {

// The character that a text starts with, and how many bytes it takes: 0 where it starts with none.
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

bool is_ascii_text(unsigned char c) { return c >= 0x20 && c < 0x7f; }

bool is_hidden(utf8proc_int32_t code) {
  const utf8proc_property_t& property = *utf8proc_get_property(code);
  switch (property.category) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    case UTF8PROC_CATEGORY_ZS:
      return code != ' ';
    default:
      return property.ignorable != 0;
  }
}

// Of hidden characters, those that text in some languages is not right without.
bool is_spelling(utf8proc_int32_t code) {
  constexpr utf8proc_int32_t kNonJoiner = 0x200c, kJoiner = 0x200d;
  const utf8proc_property_t& property = *utf8proc_get_property(code);
  return code == kNonJoiner || code == kJoiner || property.category == UTF8PROC_CATEGORY_ZS ||
         property.category == UTF8PROC_CATEGORY_MN || property.category == UTF8PROC_CATEGORY_LO;
}

template <typename Keeps>
std::string escaped(std::string_view text, const Keeps& keeps) {
  std::string line;
  line.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (is_ascii_text(static_cast<unsigned char>(text[i]))) {
      line += text[i++];
      continue;
    }
    const auto [code, length] = first_character(text.substr(i));
    const size_t count = std::max<size_t>(length, 1);
    const bool is_control = length != 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_CC;
    if (length != 0 && (!is_hidden(code) || keeps(code)))
      line.append(text, i, count);
    else if (length == 0 || is_control)
      for (size_t k = 0; k < count; ++k) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + k]));
    else
      line += code > 0xffff ? fmt::format("\\U{:08x}", code) : fmt::format("\\u{:04x}", code);
    i += count;
  }
  return line;
}

}  // namespace

size_t utf8_length(std::string_view text) { return first_character(text).length; }

uint32_t hidden_code(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return 0;
  const auto [code, length] = first_character(text);
  return length != 0 && is_hidden(code) ? static_cast<uint32_t>(code) : 0;
}

std::string printable(std::string_view text) {
  return escaped(text, [](utf8proc_int32_t) { return false; });
}

std::string printable_prose(std::string_view text) {
  return escaped(text, [](utf8proc_int32_t code) { return code == '\n' || code == '\t' || is_spelling(code); });
}

std::string json_escape(uint32_t code) {
  if (code <= 0xffff) return fmt::format("\\u{:04x}", code);
  const uint32_t beyond = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (beyond >> 10), 0xdc00 + (beyond & 0x3ff));
}

std::string with_json_escapes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size();) {
    const size_t length = std::max<size_t>(utf8_length(json.substr(i)), 1);
    const uint32_t hidden = json[i] == 0x7f ? 0x7f : hidden_code(json.substr(i));
    if (hidden != 0)
      out += json_escape(hidden);
    else
      out.append(json, i, length);
    i += length;
  }
  return out;
}

}  // namespace thaw
