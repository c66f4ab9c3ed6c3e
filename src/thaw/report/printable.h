// Text from a model that is safe to show: names in a model file are anybody's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thaw::report {

// Bytes of the UTF-8 character that `text` starts with: 1 to 4; 0 where it starts with none (stray or missing
// continuation bytes, overlong forms, surrogates, past U+10FFFF). `text` must not be empty.
size_t utf8_length(std::string_view text);

// The code of the character that `text` starts with where it must not be shown as it is, else 0: U+0080 to U+009F, which
// some terminals obey, and those that turn the direction of writing, which let a name show as another.
uint32_t hidden_code(std::string_view text);

// Columns that `text` takes on a terminal: two for a wide character (of Chinese, Japanese, Korean), none for an accent that
// stands on the one before. A bad byte counts as one.
size_t width_of(std::string_view text);

// `text` as one line without control characters (escape sequences, line breaks) and bad UTF-8, those bytes as \xNN, and
// without characters that turn the direction of writing, those as \uNNNN.
std::string printable(std::string_view text);

// 1234567 as "1,234,567".
std::string grouped(uint64_t number);
// "1 node", "2,815 nodes".
std::string counted(uint64_t number, std::string_view noun);

}  // namespace thaw::report
