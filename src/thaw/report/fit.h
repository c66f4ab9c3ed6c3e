// Text that fits a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thaw::report {

// The text with lines of more than `width` columns broken at blanks; what follows stands under where the line's text
// begins, or its second column where it has two. A word that is wider by itself stays whole, as a path or a command is
// to be copied. Escape sequences take no columns. A width of 0 is any.
std::string fit(std::string_view text, size_t width);

// Columns of the terminal behind a descriptor: COLUMNS where that is set, else what the terminal says; 0 where it is no
// terminal, whose reader takes lines as they are.
size_t columns_of(int fd);

}  // namespace thaw::report
