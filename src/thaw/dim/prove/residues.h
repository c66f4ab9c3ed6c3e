// Case splits on the remainders of symbols. Internal to dim/.
//
// With s = L*k + r for each symbol s, and L a multiple of every m that matters, floor((a*s + c)/m) is a polynomial in
// k: one case for each r, and in each of them the floors are gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "thaw/dim/prove/statement.h"

namespace thaw::dim {

// For each symbol (by id): the L by which its remainder decides the floors over constants in the statement, 1 for any.
// Past what is worth splitting, a symbol is left out.
std::map<int, int64_t> moduli_of(const Statement& statement);

// A statement about the k of one case, in a scope of its own.
struct Case {
  std::unique_ptr<Scope> scope;
  Statement statement;          // unknown sides: past the budget
  std::vector<int64_t> lowest;  // the original symbols (ascending by id) at k = 0
};

// All cases of a statement, one after the other.
class Cases {
 public:
  // `moduli` as moduli_of returns them; none splits only by what is assumed of the symbols.
  Cases(const Statement& statement, const std::map<int, int64_t>& moduli);

  // How many cases there are; past the limit of 64 bits, the highest int64.
  int64_t count() const { return count_; }
  // The next case that admits any value; null after the last.
  std::unique_ptr<Case> next();

 private:
  struct Symbol {
    int id;
    const SymbolInfo* info;
    int64_t modulus;  // a multiple of info->modulus
  };

  std::unique_ptr<Case> build(int64_t index) const;

  Statement statement_;
  std::vector<Symbol> symbols_;
  int64_t count_ = 1;
  int64_t next_ = 0;
};

}  // namespace thaw::dim
