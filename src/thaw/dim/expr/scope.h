// The scope of a model's symbols: owns the interned expressions, and what is assumed of each symbol.
//
// A scope lives as long as any Dim made in it. It is not thread-safe: one analysis, one scope.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/core/budget.h"
#include "thaw/dim/expr/dim.h"

namespace thaw::dim {

// Where a symbol's value comes from.
enum class SymbolKind : uint8_t {
  kInputDim,       // a dim of a graph input: declared by the user, or named "<input>_dim<k>"; 0 or more
  kInputValue,     // an element of an integer graph input, printed NAME[i], i counting in row-major order; any integer
  kDataDependent,  // a size that only running the model tells (NonZero's count); 0 or more
  kDataDependentValue,  // a value that only running the model tells; any integer
};

struct SymbolInfo {
  // `lower` of a symbol that may be any negative value.
  static constexpr int64_t kNoLower = std::numeric_limits<int64_t>::min();

  std::string name;  // the text it prints as; unique in the scope
  SymbolKind kind = SymbolKind::kInputDim;
  int64_t lower = 0;             // lowest value, inclusive; kNoLower: unbounded
  std::optional<int64_t> upper;  // highest value, inclusive; none: none stated, and a size is then at most 2^40
  int64_t modulus = 1;           // value % modulus == remainder, 0 <= remainder < modulus
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

  // The symbol of that name, made on first use with the range of its kind (a dim may be 0: ONNX allows empty tensors;
  // use `assume_range` to say more). Distinct names are distinct symbols, also where they print alike: the later one
  // gets a suffix.
  Dim symbol(std::string_view name, SymbolKind kind = SymbolKind::kInputDim);
  // A symbol with a name of its own: `hint`, or `hint_2`, `hint_3`, … where that is taken.
  Dim fresh(std::string_view hint, SymbolKind kind);
  // NAME[index], an element of an integer graph input; unbounded on both sides.
  Dim input_value(std::string_view input_name, int64_t index);
  // The symbol of that name, else the one that prints as that text.
  std::optional<Dim> find(std::string_view name) const;

  const std::vector<SymbolInfo>& symbols() const;
  int symbol_id(Dim symbol) const;  // -1 unless the Dim is one symbol
  Dim symbol_at(int id) const;

  // Narrow what is assumed of a symbol (intersection with what is assumed already; throws thaw::Error when nothing is
  // left, and then changes nothing). The ends of the range move inward to values of the right remainder. Expressions
  // made before are not renormalised: state assumptions before building on them.
  void assume_range(Dim symbol, int64_t lower, std::optional<int64_t> upper);
  void assume_divisible(Dim symbol, int64_t modulus, int64_t remainder = 0);
  // A relation between symbols: d is 0 or more. What it says of one symbol alone narrows its range; the rest is a fact
  // that proofs and counterexamples go by (prove.h), not the normal form.
  void assume_not_negative(Dim d);
  const std::vector<Dim>& facts() const;

  // The largest number of terms and atoms an expression may have before it becomes unknown (default 64).
  void set_budget(int terms);
  int budget() const;

  // Arithmetic spends visits of this budget, and expressions hold its bytes; once it is out, all that is new is unknown.
  // None by default. A scope made for a part of another's work takes that one's.
  void spend_of(std::shared_ptr<Budget> budget);
  const std::shared_ptr<Budget>& spends_of() const;

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

// d with the assignment's symbols replaced; unknown where that is undefined (see evaluate) or overflows.
Dim substitute(Dim d, const Assignment& values);
// d with symbols replaced by expressions of the same scope.
Dim substitute(Dim d, const std::unordered_map<int, Dim>& replacements);
// The value of d; nullopt when a symbol is missing, on overflow, and where d is undefined: a division by zero, or a
// broadcast of sizes that differ and are not 1.
std::optional<int64_t> evaluate(Dim d, const Assignment& values);

// The interval that d is sure to lie in under the scope's assumptions, wherever d is defined (interval arithmetic; not
// always tight). A size without a stated upper bound is taken to be at most 2^40.
struct Interval {
  std::optional<int64_t> lower, upper;  // none: unbounded
};
Interval range_of(Dim d);

}  // namespace thaw::dim
