// The scope of a model's symbols: owns the interned expressions, and what is assumed of each symbol.
//
// A scope lives as long as any Dim made in it. It is not thread-safe: one analysis, one scope.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/dim/dim.h"

namespace thaw::dim {

// Where a symbol's value comes from.
enum class SymbolKind : uint8_t {
  kInputDim,       // a dim of a graph input: declared by the user, or named "<input>_dim<k>"
  kInputValue,     // an element of an integer graph input, printed NAME[i], i counting in row-major order
  kDataDependent,  // a size or value that only running the model tells (NonZero's count)
};

struct SymbolInfo {
  std::string name;          // the text it prints as; unique in the scope
  SymbolKind kind = SymbolKind::kInputDim;
  int64_t lower = 0;         // lowest value, inclusive
  std::optional<int64_t> upper;  // highest value, inclusive; none: unbounded
  int64_t modulus = 1;       // value % modulus == remainder
  int64_t remainder = 0;
};

// Values for symbols, by symbol id (index into Scope::symbols()).
using Assignment = std::unordered_map<int, int64_t>;

class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The symbol of that name, made on first use. `default_lower` is its lowest value when it is made here
  // (0 for a dim: ONNX allows empty tensors; use `assume` to say more).
  Dim symbol(std::string_view name, SymbolKind kind = SymbolKind::kInputDim);
  // A symbol with a name of its own: `hint`, or `hint_2`, `hint_3`, … where that is taken.
  Dim fresh(std::string_view hint, SymbolKind kind);
  // NAME[index], an element of an integer graph input; its range is all of int64 that arithmetic stays exact on.
  Dim input_value(std::string_view input_name, int64_t index);
  std::optional<Dim> find(std::string_view name) const;

  const std::vector<SymbolInfo>& symbols() const;
  int symbol_id(Dim symbol) const;  // -1 unless the Dim is one symbol
  Dim symbol_at(int id) const;

  // Narrow what is assumed of a symbol (intersection with what is assumed already; throws thaw::Error when nothing is left).
  // Expressions made before are not renormalised: state assumptions before building on them.
  void assume_range(Dim symbol, int64_t lower, std::optional<int64_t> upper);
  void assume_divisible(Dim symbol, int64_t modulus, int64_t remainder = 0);

  // The largest number of terms and atoms an expression may have before it becomes unknown (default 64).
  void set_budget(int terms);
  int budget() const;

  struct Impl;  // interning tables, see scope.cc
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The scope a symbolic Dim belongs to; null for constants and unknown.
Scope* scope_of(Dim d);

// Ids of the symbols in d, ascending, each once.
std::vector<int> symbols_of(Dim d);
// True when some symbol of d is data-dependent: such a size has no expression in the inputs.
bool is_data_dependent(Dim d);

// d with the assignment's symbols replaced; unknown on overflow or division by zero.
Dim substitute(Dim d, const Assignment& values);
// d with symbols replaced by expressions of the same scope.
Dim substitute(Dim d, const std::unordered_map<int, Dim>& replacements);
// The value of d; nullopt when a symbol is missing, or on overflow or division by zero.
std::optional<int64_t> evaluate(Dim d, const Assignment& values);

// The interval that d is sure to lie in under the scope's assumptions (interval arithmetic; not always tight).
struct Interval {
  std::optional<int64_t> lower, upper;  // none: unbounded
};
Interval range_of(Dim d);

}  // namespace thaw::dim
