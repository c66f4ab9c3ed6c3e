// Long expressions of sizes, said once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thaw::report {

// The text with expressions (floor(…), ceil(…), min(…), max(…), of some length) that it repeats replaced by a letter in the last column of
// lines of more than `width` columns, and "where a = ceil(height/32)" before the paragraph that uses a letter first. A letter is none that an
// expression or a size of the text has, nor h or w, and is the same at every width. A width of 0 is any.
std::string fold_expressions(std::string_view text, size_t width);

}  // namespace thaw::report
