// What the traces' sizes share, as far as what was solved depends on it. Internal to lift/.
//
// Where every trace is a multiple of 2, floor(n / 2) and ceil(n / 2) are one; where every trace is square, nothing tells
// the two sides apart; a value that was 1 in all of them says nothing of 2. What was solved is then known for such sizes
// and no others: the model gets a guard (guard.cc), which ends it with an error at any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/table/formula/limit.h"

namespace thaw::lifting {

// size = modulus * k + remainder in every trace.
struct Congruence {
  dim::Dim size;
  int64_t modulus = 1, remainder = 0;
  bool is_of_one_size() const { return dim::scope_of(size)->symbol_id(size) >= 0; }
};

// Two axes of one input that are as long as each other in every trace, and one variable.
struct EqualSides {
  const ir::Value* input = nullptr;
  size_t axis = 0, other = 0;
  dim::Dim symbol;
};

// Two sizes of which the traces do not tell which is right.
struct Undecided {
  dim::Dim chosen, other;
  std::string telling;         // sizes at which they differ; may be empty
  std::string needed_by = {};  // a node that runs only where they are the same, whichever is right
};

struct Domain {
  std::vector<Congruence> congruences;
  std::vector<std::pair<dim::Dim, dim::Dim>> multiples;  // the first is one of the second
  std::vector<Limit> limits;
  std::vector<EqualSides> squares;
  std::vector<const Variable*> fixed;  // values of inputs that never differed
  std::vector<Undecided> undecided;
  std::vector<std::pair<dim::Dim, dim::Dim>> followed;  // the first is the second, or nodes contradict each other

  bool is_everything() const {
    return congruences.empty() && multiples.empty() && limits.empty() && squares.empty() && fixed.empty() &&
           undecided.empty() && followed.empty();
  }
  // Whether the model runs at these sizes.
  bool has(const dim::Assignment& at) const;
  // "known for multiples of 16; one trace at another size tells the rest", by size.
  std::vector<Note> notes() const;
  // In the grammar of `check --sizes`, as far as that says it; relations: what is not of one size.
  std::vector<std::string> relations() const;
  std::string text() const;
};

// What is a multiple of 2 and of 3 is one of 6. value: the size in any trace.
void add_congruence(Domain& domain, dim::Dim size, int64_t modulus, int64_t value);

// Adds how far the tables go that are read row by row.
void add_limits(Domain& domain, std::span<const Limit> limits);

// A size that is whole pieces, of this length, in every trace.
struct WholeSize {
  dim::Dim size;
  int64_t divisor = 1;
};

// Adds that these sizes are.
void add_whole_sizes(Domain& domain, std::span<const WholeSize> sizes);

// Adds it, where it is not there.
void add_undecided(Domain& domain, Undecided undecided);

}  // namespace thaw::lifting
