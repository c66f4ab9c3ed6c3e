// Names of number formats as people write them.
#pragma once

#include <string>
#include <string_view>

namespace thaw {

// As Thaw writes it: "f16" of "FP16", "float16" and "half", "int8" of "INT8" and "i8". Of any other word: its letters small, '-' for '_'.
std::string type_word(std::string_view text);

}  // namespace thaw
