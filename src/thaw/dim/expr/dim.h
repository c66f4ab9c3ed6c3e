// Symbolic sizes: integer expressions over the symbols of a Scope, kept in normal form.
//
// A Dim is one of
//   unknown     a size nothing is known about. Unknown is never equal to anything, itself included.
//   constant    an integer.
//   expression  a polynomial with integer coefficients whose atoms are symbols and
//               floor(a/b), a % b, min(a,b), max(a,b), broadcast(a,b).
//
// Arithmetic never fails: overflow of int64, division by zero, or an expression larger than the scope's budget returns
// unknown. Expressions are interned in their Scope in normal form, so that `same` is a pointer comparison:
//   ceil(a/b) = -floor(-a/b); floor((b*x + r)/b) = x + floor(r/b); floor(floor(a/b)/c) = floor(a/(b*c)) for b, c > 0;
//   min/max/broadcast are flattened, sorted and rid of operands that the known ranges dominate.
// `same(a, b)` says "equal for every value of the symbols"; its absence says nothing: ask dim/prove/prove.h.
//
// broadcast(a, b) is the ONNX (multidirectional) broadcast of two sizes that are assumed compatible: b where a is 1,
// else a (so 0 and 1 are 0). A constant operand other than 1 decides it; equal operands are their own broadcast.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace thaw::dim {

class Scope;
struct Expr;  // an interned normal form, owned by its Scope; see dim/expr/expr.h

class Dim {
 public:
  constexpr Dim() = default;  // unknown
  // A constant; implicit on purpose, so that `2 * n + 1` reads as it should.
  constexpr Dim(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  // An expression. A template, so that the literal 0 is a constant and never a null pointer.
  template <std::same_as<const Expr*> Pointer>
  explicit constexpr Dim(Pointer expr) : expr_(expr), value_(0) {}

  bool is_unknown() const { return expr_ == nullptr && value_ == kUnknown; }
  bool is_known() const { return !is_unknown(); }
  bool is_constant() const { return expr_ == nullptr && value_ != kUnknown; }
  bool is_symbolic() const { return expr_ != nullptr; }  // an expression with at least one symbol
  bool is_constant(int64_t value) const { return is_constant() && value_ == value; }

  std::optional<int64_t> constant() const {
    if (!is_constant()) return std::nullopt;
    return value_;
  }
  const Expr* expr() const { return expr_; }  // null unless symbolic

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();  // not a value any Dim can have
  const Expr* expr_ = nullptr;
  int64_t value_ = kUnknown;
};

// Both known and of one normal form: equal for every value of the symbols.
bool same(Dim a, Dim b);

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator-(Dim a);
Dim operator*(Dim a, Dim b);
Dim floor_div(Dim a, Dim b);  // rounds toward minus infinity, for either sign of b
Dim ceil_div(Dim a, Dim b);
Dim mod(Dim a, Dim b);  // a - b * floor_div(a, b): the sign of b, as in Python
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim broadcast(Dim a, Dim b);
Dim product(std::span<const Dim> dims);  // 1 for none
Dim sum(std::span<const Dim> dims);      // 0 for none

// a / b where b divides a as a polynomial (6*h*w / (2*w) = 3*h); nullopt where it does not or is not known to.
std::optional<Dim> exact_div(Dim a, Dim b);

}  // namespace thaw::dim
