// Long expressions of sizes, said once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thaw::report {

// The text with what stands twice or more in lines of more than `width` columns (floor(…), ceil(…), min(…), max(…), of some
// length) replaced there by a letter that the text does not use, and "let s = ceil(h/32)" at its end. A width of 0 is any.
std::string fold_expressions(std::string_view text, size_t width);

}  // namespace thaw::report
