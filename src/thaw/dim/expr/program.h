// Dims compiled for evaluation at many points: each shared part is evaluated once. Internal to dim/.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/expr.h"

namespace thaw::dim {

// What evaluation comes to: a value, or why there is none.
enum class Outcome : uint8_t {
  kValue,
  kUndefined,  // division by zero, or a broadcast of sizes that do not go together
  kOverflow,
  kMissing,  // a symbol without a value, or an unknown Dim
};

class Program {
 public:
  // The roots are known Dims of one scope.
  explicit Program(std::span<const Dim> roots);

  // Ids of the symbols that stand in the roots, ascending.
  const std::vector<int>& symbols() const { return symbols_; }

  // Evaluates every root at the point where symbols()[i] is values[i]. Then root(i) holds, where the outcome is
  // kValue.
  Outcome run(std::span<const int64_t> values);
  // About how many operations a run takes.
  size_t size() const { return steps_.size() + terms_.size() + factors_.size() + operands_.size(); }
  int64_t root(size_t i) const { return slots_[static_cast<size_t>(roots_[i])]; }

 private:
  struct Factor {
    int slot;
    int power;
  };
  struct Term {
    int64_t coef;
    size_t first, last;  // into factors_
  };
  // slot = constant + terms, or slot = kind(operands)
  struct Step {
    int slot;
    AtomKind kind;  // kSymbol: a sum of terms
    int64_t constant;
    size_t first, last;  // into terms_, or into operands_
  };

  int slot_of(Dim d);
  int slot_of(const Atom& atom);
  Outcome run_sum(const Step& step);
  Outcome run_atom(const Step& step);

  std::vector<int> symbols_;
  std::vector<int> roots_;
  std::vector<Step> steps_;
  std::vector<Term> terms_;
  std::vector<Factor> factors_;
  std::vector<int> operands_;
  std::vector<int64_t> slots_;
  std::unordered_map<const Atom*, int> atom_slots_;
  std::unordered_map<const Expr*, int> expr_slots_;
};

}  // namespace thaw::dim
