// What the traces' sizes share, as far as what was solved depends on it. Internal to lift/.
//
// Where every trace is a multiple of 2, floor(n / 2) and ceil(n / 2) are one; where every trace is square, nothing tells
// the two sides apart; a value that was 1 in all of them says nothing of 2. What was solved is then known for such sizes
// and no others: the model gets a guard (guard.cc), which ends it with an error at any other.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/table/limit.h"
#include "thaw/lift/table/table_emitter.h"

namespace thaw::lifting {

// In the order in which they were made: the same in every run.
struct ByMaking {
  bool operator()(const dim::Atom* a, const dim::Atom* b) const { return a->id < b->id; }
};

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

// Axes that are equal in every trace though nothing declares them so. Of the first trace's inputs.
std::vector<EqualSides> equal_sides(const std::vector<Trace>& traces, std::span<const Variable> variables);

// Adds that these are equal where one of the sizes depends on their one variable, or the domain says anything of it: the guard reads one
// axis of the two.
void add_equal_sides(Domain& domain, std::span<const EqualSides> equal, std::span<const dim::Dim> sizes);

// Quotients that sizes of the graph itself have, as a convolution rounds them: of these nothing is guessed.
struct ToldRoundings {
  std::set<const dim::Atom*, ByMaking> floors;
  void add(dim::Dim size);
};

// Adds what the roundings in these sizes depend on: a quotient that no trace has a part left over of is not told how it
// is rounded, and one that every trace has the same part left over of is told there alone; unless the graph tells it, or another
// size of the same input, of which the same is taken. guessed: sizes that were solved by numbers; what is rounded as one of them
// depends on it too, and nothing else does.
void add_roundings(Domain& domain, std::span<const dim::Dim> sizes, std::span<const dim::Dim> guessed,
                   const ToldRoundings& told, std::span<const Variable> variables);

// Adds how far the tables go that are read row by row.
void add_limits(Domain& domain, std::span<const Limit> limits);

// A size that is whole pieces, of this length, in every trace.
struct WholeSize {
  dim::Dim size;
  int64_t divisor = 1;
};

// Adds that these sizes are.
void add_whole_sizes(Domain& domain, std::span<const WholeSize> sizes);

// Where the graph divides a size (patches, pools) and no trace leaves a remainder, nothing tells what becomes of one: that it is dropped,
// as the node does, or filled up before by code that runs where there is one. Adds that there is none.
void add_whole_divisions(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables);

// Adds that an axis is a multiple of all that divides it in the traces where numbers are computed of a part of it that is rounded. No shape
// holds such a size, and another one that is rounded otherwise gives the same numbers.
void add_rounded_numbers(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes,
                         std::span<const Variable> variables);

// Of axes along which tables begin again after so many places: where two traces, and there are no more, end at the same of these, adds that
// every size does. A size may be a sum of such a table (durations), and any line meets two of them.
void add_periods(Domain& domain, std::span<const std::pair<dim::Dim, int64_t>> repeated,
                 std::span<const Variable> variables);

// Adds it, where it is not there.
void add_undecided(Domain& domain, Undecided undecided);

// Where a number is computed of one side of an input, and none alike of the other: adds that it is the longer side, or the shorter, where it
// is so in all traces. No shape tells it from that.
void add_extremes(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes, std::span<const Variable> variables);

// The same of sizes that were guessed, where none was of the other side, and nothing that is known (emitted, or a tensor's) is as long of it,
// or rounded so.
void add_extremes(Domain& domain, std::span<const dim::Dim> guessed, std::span<const dim::Dim> known,
                  std::span<const Variable> variables);

// Of traces without the nodes that do nothing (no_ops.h): adds that an axis of which the model rounds anything is a multiple of all that
// divides it in the traces. By any of it the model may fill the axis up, or cut it down.
void widen_to_common_divisors(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables);

// Whether the size depends on how one of these is rounded.
bool is_rounded_as(dim::Dim size, std::span<const dim::Dim> guessed, const ToldRoundings& told,
                   std::span<const Variable> variables);

// Adds that a variable is a multiple of what divides it in all traces, the smallest for which the model contradicts itself
// no more, neither at sizes that are drawn nor at these.
void add_contradicted(Domain& domain, const ir::Model& lifted, std::span<const Variable> variables,
                      const std::vector<std::vector<int64_t>>& broken_at);

}  // namespace thaw::lifting
