// Einsum's equation: letters are sizes, "..." stands for axes that broadcast.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thaw::ops {

// What stands for "..." in a term.
constexpr char kEllipsis = '.';

struct EinsumEquation {
  std::vector<std::string> terms;     // one an operand: letters, with kEllipsis where "..." stands
  std::optional<std::string> output;  // behind "->", where that is there

  // What stands behind "->", or is meant where it does not: the ellipsis, then the letters that appear once, in the order
  // of their codes.
  std::string result() const;
};

// nullopt for what is no equation.
std::optional<EinsumEquation> parse_equation(std::string_view text);

}  // namespace thaw::ops
