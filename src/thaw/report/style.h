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

  // For a file descriptor: as choose() said; else none where NO_COLOR is set (and not empty), colour where FORCE_COLOR is
  // (and is not 0), and else when it is a terminal, unless TERM says "dumb".
  static Style of(int fd);
  enum class Choice : uint8_t { kAuto, kAlways, kNever };
  static void choose(Choice choice);  // for the whole process

  bool colour() const { return colour_; }
  // The text in that look; unchanged without colour. Pad before dressing: the escapes take no columns.
  std::string operator()(Look look, std::string_view text) const;

 private:
  bool colour_;
};

// The text with the words that begin a line and tell an outcome in their colour: "agrees", "differs", "wrote", "error:", "warning:".
std::string dress_outcomes(std::string_view text, const Style& style);

}  // namespace thaw::report
