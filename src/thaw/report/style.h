// How text is dressed for where it goes: colour on a terminal that has it, plain elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thaw::report {

class Style {
 public:
  enum class Look : uint8_t { kBold, kDim, kRed, kYellow, kGreen, kCyan };

  explicit Style(bool colour = false) : colour_(colour) {}

  // For a file descriptor: colour when it is a terminal, unless NO_COLOR is set (and not empty) or TERM says "dumb".
  static Style of(int fd);

  bool colour() const { return colour_; }
  // The text in that look; unchanged without colour. Pad before dressing: the escapes take no columns.
  std::string operator()(Look look, std::string_view text) const;

 private:
  bool colour_;
};

}  // namespace thaw::report
