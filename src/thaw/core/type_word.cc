#include "thaw/core/type_word.h"

#include <algorithm>
#include <array>
#include <utility>

namespace thaw {

std::string type_word(std::string_view text) {
  using Name = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Name, 15> kNames{{{"fp16", "f16"},
                                         {"float16", "f16"},
                                         {"half", "f16"},
                                         {"fp32", "f32"},
                                         {"float32", "f32"},
                                         {"float", "f32"},
                                         {"bfloat16", "bf16"},
                                         {"i8", "int8"},
                                         {"i4", "int4"},
                                         {"i3", "int3"},
                                         {"i2", "int2"},
                                         {"int4-fp16", "int4-f16"},
                                         {"int4-float16", "int4-f16"},
                                         {"i8-blocks", "int8-blocks"},
                                         {"int4-half", "int4-f16"}}};
  std::string word(text);
  for (char& letter : word) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  const auto found = std::ranges::find(kNames, std::string_view(word), &Name::first);
  return found == kNames.end() ? word : std::string(found->second);
}

}  // namespace thaw
