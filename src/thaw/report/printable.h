// Text as reports show it: names (core/printable.h), and numbers for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "thaw/core/printable.h"

namespace thaw::report {

using thaw::hidden_code;
using thaw::printable;
using thaw::utf8_length;

// Columns that `text` takes on a terminal: two for a wide character (of Chinese, Japanese, Korean), none for an accent that
// stands on the one before. A bad byte counts as one.
size_t width_of(std::string_view text);

// 1234567 as "1,234,567".
std::string grouped(uint64_t number);
// "1 node", "2,815 nodes".
std::string counted(uint64_t number, std::string_view noun);

}  // namespace thaw::report
