// What is known of one scalar inside a small tensor: nothing, an exact integer or fraction over the scope's symbols,
// or a floating-point number.
//
// Shape arithmetic in exported models wanders through floating point (Cast to float, Div, Floor, Cast back; Resize
// scales). A Ratio keeps such a value exact: num / den as Dims, den known not to be zero where it matters to the
// caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "thaw/dim/expr/dim.h"

namespace thaw::ops {

class Element {
 public:
  Element() = default;                               // unknown
  static Element integer(dim::Dim value);            // also booleans, as 0 and 1; unknown for an unknown Dim
  static Element ratio(dim::Dim num, dim::Dim den);  // simplified to an integer where den divides num exactly
  static Element real(double value);                 // a whole number small enough to be exact becomes an integer

  bool is_unknown() const { return kind_ == Kind::kUnknown; }
  // The integer Dim, unknown when this is not an integer.
  dim::Dim as_dim() const { return kind_ == Kind::kInteger ? num_ : dim::Dim(); }
  // A plain number, when it is one (constant integer, constant ratio, real).
  std::optional<double> as_double() const;
  // A plain integer, when it is one.
  std::optional<int64_t> as_int() const { return as_dim().constant(); }
  bool is_exact() const { return kind_ == Kind::kInteger || kind_ == Kind::kRatio; }
  dim::Dim num() const { return num_; }  // of an exact element
  dim::Dim den() const { return den_; }  // of an exact element; 1 for an integer

  friend Element operator+(const Element& a, const Element& b);
  friend Element operator-(const Element& a, const Element& b);
  friend Element operator*(const Element& a, const Element& b);
  // True division: a ratio. Integer division of integers is integer_div.
  friend Element operator/(const Element& a, const Element& b);
  friend Element floor(const Element& a);
  friend Element ceil(const Element& a);
  friend Element truncate(const Element& a);  // toward zero, as Cast to an integer does

 private:
  enum class Kind : uint8_t { kUnknown, kInteger, kRatio, kReal };
  Kind kind_ = Kind::kUnknown;
  dim::Dim num_, den_ = 1;
  double real_ = 0;
};

// ONNX integer Div: truncates toward zero. (floor where both are known not to be negative.)
Element integer_div(const Element& a, const Element& b);
// Whether it is an integer that float64 may not hold: ONNX Runtime computes some operators of integers in it.
inline bool is_beyond_float64(const Element& a) {
  constexpr int64_t kMost = int64_t{1} << 53;
  const auto value = a.as_int();
  return value && (*value > kMost || *value < -kMost);
}
bool same(const Element& a, const Element& b);  // known, and equal for every value of the symbols

using Elements = std::vector<Element>;  // row-major
using ElementsPtr = std::shared_ptr<const Elements>;

}  // namespace thaw::ops
