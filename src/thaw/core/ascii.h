// Letters and digits of ASCII. Those of <cctype> go by the locale, which belongs to the program that uses the library: in a
// Turkish one the lower case of I is another letter.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace thaw::ascii {

constexpr bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(unsigned char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_letter_or_digit(unsigned char c) { return is_letter(c) || is_digit(c); }

constexpr char to_lower(char c) {
  return is_upper(static_cast<unsigned char>(c)) ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char to_upper(char c) {
  return is_lower(static_cast<unsigned char>(c)) ? static_cast<char>(c - 'a' + 'A') : c;
}

inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return to_lower(c); });
  return lower;
}

}  // namespace thaw::ascii
