#include "thaw/report/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <utf8proc.h>

namespace thaw::report {

size_t width_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    utf8proc_int32_t code = -1;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &code);
    columns += length <= 0 ? 1 : static_cast<size_t>(utf8proc_charwidth(code));
    text.remove_prefix(static_cast<size_t>(std::max<utf8proc_ssize_t>(length, 1)));
  }
  return columns;
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

}  // namespace thaw::report
