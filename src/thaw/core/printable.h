// Text from a file that is safe to show: names in a model are anybody's bytes. What nobody would see, or what a terminal
// obeys, is shown as an escape, so that two names that differ also look different.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thaw {

// Bytes of the UTF-8 character that `text` starts with: 1 to 4; 0 where it starts with none (stray or missing
// continuation bytes, overlong forms, surrogates, past U+10FFFF). `text` must not be empty.
size_t utf8_length(std::string_view text);

// The code of the character that `text` starts with, where that is beyond ASCII and cannot be seen for what it is, else 0:
// by Unicode's categories controls, formats (which turn the direction of writing, or join and part letters), separators,
// what is not assigned or private, and all that Unicode says a font may leave out.
uint32_t hidden_code(std::string_view text);

// `text` as one line: control characters of ASCII and U+0080 to U+009F (escape sequences, line breaks) and bytes that are
// no UTF-8 as \xNN, other hidden characters as \uNNNN or \UNNNNNNNN.
std::string printable(std::string_view text);

// The same of what is written in a language, not a name: lines and tabs stay, and what some scripts and emoji are spelled with,
// joiners, variants of characters and wide spaces.
std::string printable_prose(std::string_view text);

// The escape of a character in JSON: \uNNNN, two of them where it takes two.
std::string json_escape(uint32_t code);
// JSON that shows hidden characters as escapes; read, it is the same.
std::string with_json_escapes(std::string_view json);

}  // namespace thaw
