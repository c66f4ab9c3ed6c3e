// Solving an integer that differs between traces: the simplest expression of the variables that gives it in each.
//
// In this order: a constant; twice a size less 1 where it counts distances; a variable; the size of a tensor, which says how it is rounded
// where all traces are whole; then the terms of all these (term/enumerate.h), by what it takes to write them down. Three traces at sizes
// that are no multiples of each other leave little room for chance; two leave more. Where the sizes of the whole model contradict each
// other, some are taken otherwise (backtrack.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/lift/solve/tensor_sizes.h"
#include "thaw/lift/term/enumerate.h"

namespace thaw::lifting {

// How a solution was found, the plainest first.
enum class Rule : uint8_t {
  kConstant,
  kVariable,
  kPart,    // a multiple, a product, or a part that is exact in every trace
  kTensor,  // as large as one
  kAround,  // a multiple or part of what stands around it, or cut as its readers cut it
  kLine,    // any other that rounds nothing: a size and a constant
  kTerm,    // any other
  kMadeUp   // none: it is right in the traces, and elsewhere it is not (Solved)
};

// Whether nothing but the traces' numbers says how such a solution is rounded; a tensor that measures as much says it of others.
constexpr bool guesses_rounding(Rule rule) {
  return rule != Rule::kConstant && rule != Rule::kVariable && rule != Rule::kTensor && rule != Rule::kMadeUp;
}

class Proposer;

struct Solution {
  dim::Dim dim;
  Rule rule;
  double bits = 0;  // of what leaves room for chance in three traces and more: as a term (term/enumerate.h)
  Makeup makeup = Makeup::kOfOne;
  double over_rest = 0;  // as of a term
};

// In bits. A term is taken for what no rule gives where it saves so many over the integers themselves: chance meets one list in 32 as
// cheaply. One of several sizes is another that may be right where it does too, one with a number where it saves some.
constexpr double kSaved = 5, kSavedWithNumber = 1.5;
// In bits. A term is chosen between three traces and more where the next other function takes so many more; else both are open.
constexpr double kLead = 2.5;

// What was solved, and the other solutions, as far as they were asked for. Where few are, and what was solved is guessed, the
// last is made up: where nothing contradicts even that, nothing holds what was solved.
struct Solved {
  std::vector<Solution> solutions;
  size_t chosen = 0;  // which of them
  dim::Dim size() const { return solutions[chosen].dim; }
};

// Two formulas that the model is to agree with wherever it runs, and sizes at which they differ. modulus: where above 0, they agree
// wherever that size is modulus * k + remainder, as it is in every trace.
struct Agreement {
  std::string chosen, other, telling;
  std::string size = {};
  int64_t modulus = 0, remainder = 0;
  auto operator<=>(const Agreement&) const = default;
};

// Which solution is taken: this one by its text, else the one behind so many.
struct Choice {
  size_t index = 0;
  std::string taken = {};
  std::set<Agreement> guarded = {};
  bool is_doubted =
      false;  // whether it, or what stands beside it, contradicted the nodes: it is taken where it is no chance at all
  bool operator==(const Choice&) const = default;
};

// Where an integer stands: the node by what its first output is called.
struct IntegerPlace {
  std::string node;
  int input = 0;
  size_t element = 0;
  auto operator<=>(const IntegerPlace&) const = default;
};

// A size that an integer is taken for at one place, by its text, and what else it may be.
struct ChoiceAtPlace {
  std::string taken = {};
  std::set<std::string> others = {};
  bool operator==(const ChoiceAtPlace&) const = default;
};

// What is not named takes the first solution, and stays where it is the same in every trace.
struct Choices {
  std::map<std::vector<int64_t>, Choice> by_values;  // in the traces
  std::map<IntegerPlace, ChoiceAtPlace> by_place;  // of those that no trace varies, and where one place is asked about
  bool holds_needs = false;  // whether what nodes need becomes a part of the domain (domain/needs.h)
  // Whether every integer takes its first solution; a guard takes none.
  bool take_first() const {
    return by_place.empty() && std::ranges::all_of(by_values, [](const auto& each) {
             return each.second.index == 0 && each.second.taken.empty() && !each.second.is_doubted;
           });
  }
  bool operator==(const Choices&) const = default;
};

// What stands around an integer, which tells more than other sizes do: a Pad fills the windows of the tensor that it pads.
struct Around {
  std::vector<Variable> sizes = {};  // of what the node reads
  std::vector<Variable> axes = {};   // of its data, axis by axis; its symbol unknown where no expression is
  bool has_own_axes = false;  // whether inference knows the shape of the data, or these are as large in every trace
  std::vector<int64_t> windows = {};  // numbers that its readers cut by: strides, constant axes of a Reshape
  bool only_windows = false;          // whether no other windows are tried
  std::set<int64_t> strides = {};     // of these, what a kernel that reads it steps over
  Meaning meaning = Meaning::kSize;   // of the integer
  bool cuts = false;                  // whether the integer is where an axis is cut off
  bool counts = false;                // whether a table is counted by it: no node says that there is such a size
  bool is_number = false;  // whether it is one that is computed with, of which no node says that there is such a size
  bool ends = false;       // whether it is where the entries of a table change, of which no node says more
  bool fills_before = false, fills_after = false;  // of a Pad's amounts: which ends of an axis are filled up
  dim::Dim elements = {};                          // how many a shape has to hold, where that is known
  std::vector<std::vector<int64_t>> made = {};     // by a shape that holds as many: each axis of it in the traces
  std::vector<int64_t> pieces = {};                // by axis of what a Resize makes, into how long ones it is cut; or 0
  std::vector<dim::Dim> given_back = {};  // what was as large in every trace before it became this data's shape
};

// By which numbers sizes are cut: of each, the integers in the traces that tell it.
using ToldCuts = std::map<int64_t, std::set<std::vector<int64_t>>>;

// What was taken for an integer, and what stood around it.
struct Taken {
  dim::Dim size;
  Rule rule;
  double bits;  // 0 where no chance was left
  Around around;
};

// Sizes that leave the same remainders as all traces do, and the bits of the largest number that they are remainders by.
struct SharedRemainders {
  std::vector<std::vector<int64_t>> sizes = {};  // of each, the value of every variable
  double bits = 0;
};

class Solver {
 public:
  // choices: to follow, and to take note of what is asked; may be null. tensors: may be null.
  explicit Solver(std::span<const Variable> variables, const Choices* choices = nullptr,
                  const TensorSizes* tensors = nullptr)
      : variables_(variables), choices_(choices), tensors_(tensors) {}

  // Of one trace. decided: what an integer is where that was decided otherwise.
  Solver(std::span<const Variable> variables, std::map<int64_t, dim::Dim> decided)
      : variables_(variables), choices_(nullptr), tensors_(nullptr), decided_(std::move(decided)) {}

  // wanted: the value in each trace. nullopt where nothing that simple gives it.
  std::optional<dim::Dim> solve(std::span<const int64_t> wanted, const Around& around = {}) const;
  // The amounts of one Pad: what is missing to whole windows of one size, or to another size, along each axis.
  std::optional<std::vector<dim::Dim>> solve_padding(const std::vector<std::vector<int64_t>>& wanted,
                                                     const Around& around) const;
  // The first solutions; where some of these leave room for chance in three traces and more, others that are as good.
  std::vector<Solution> solutions(std::span<const int64_t> wanted, size_t most, const Around& around = {}) const;
  // Sizes of tensors and inputs that are these in every trace, the plainest tensor's first; also those that follow from a guess.
  std::vector<dim::Dim> sizes_as_large(std::span<const int64_t> wanted) const;
  std::span<const Variable> variables() const { return variables_; }
  const TensorSizes* tensors() const { return tensors_; }  // may be null
  const std::map<int64_t, dim::Dim>& decided() const { return decided_; }
  // The same by what leaves no room for chance.
  std::optional<dim::Dim> solve_surely(std::span<const int64_t> wanted);
  // While set, what leaves room for chance is left open: sizes of windows, shares, products of three, extremes.
  void be_sure(bool sure) { sure_ = sure; }
  // What distances both ways of so many places are counted by: 2 * n - 1, of a variable or a tensor's size.
  void note_distances(std::vector<int64_t> at) { distances_.insert(std::move(at)); }
  // Sizes that no trace has, at which terms are told apart: of each, the value of every variable.
  void draw(std::vector<std::vector<int64_t>> unseen) { unseen_ = std::move(unseen); }
  const std::vector<std::vector<int64_t>>& unseen() const { return unseen_; }
  // None where nothing but 11, 13 and other numbers that nobody cuts by leaves the same remainder.
  const SharedRemainders& shared_remainders() const;
  // By which numbers sizes are cut, of which the traces tell; given back to another solver, they are as windows: sides are cut alike.
  const ToldCuts& told_cuts() const { return told_cuts_; }
  void know_cuts(const ToldCuts& cuts) { cuts_ = cuts; }
  // While set, what nothing gives is left to what the nodes need of it (unknowns/): it stands as a symbol.
  void leave_unsolved(bool leave) { leaves_unsolved_ = leave; }
  // That symbol; unknown where it may not be left.
  dim::Dim left_unsolved(std::span<const int64_t> wanted) const;
  const std::map<std::vector<int64_t>, dim::Dim>& unsolved() const { return unsolved_; }
  // What was solved, with choices given: by the wanted values, how.
  const std::map<std::vector<int64_t>, Rule>& solved() const { return solved_; }
  // What was taken for integers, by the wanted values, at one place or another; of those that nothing holds where they stand.
  const std::map<std::vector<int64_t>, std::vector<Taken>>& taken() const { return taken_; }
  // Of three traces and more: the terms that give the wanted values and are about as plain as what was taken, the plainest first.
  std::vector<Solution> others(std::span<const int64_t> wanted, const Taken& taken) const;
  // Of two traces, of each that leaves room for chance: solutions as plain as the one that was taken, at one place or another.
  const std::map<std::vector<int64_t>, std::vector<Solved>>& open() const { return open_; }
  // Sizes that were solved by what guesses how they are rounded, since they were forgotten.
  const std::vector<dim::Dim>& guessed() const { return guessed_; }
  void forget_guesses() {
    guessed_.clear();
    terms_.clear();  // tensors' sizes may be others since
  }
  // A table is counted by it: what was taken for it counts, and other sides may be rounded as it is, and cut by what cuts it.
  void note_used(dim::Dim size) const;
  // A table with these axes was written by these, and no node says of which tensors they are: others may measure as much in every trace.
  void note_written(std::span<const dim::Dim> sizes, std::span<const dim::Dim> axes) const;
  // A tensor's size that inference knows since some integers were solved.
  void note_learned(dim::Dim size) { learned_.emplace(size.expr(), learned_.size()); }
  // A tensor's size that follows from a guess says nothing more of the rounding than that.
  void note_guessed(dim::Dim size) { follow_guesses_.push_back(size); }

 private:
  struct TermKey {
    std::vector<int64_t> wanted;
    Cuts cuts;
    std::vector<const dim::Expr*> sizes;  // around it
    Meaning meaning;
    auto operator<=>(const TermKey&) const = default;
  };

  struct AtomsKey {
    std::vector<std::pair<const dim::Expr*, double>> atoms;  // with their bits
    Cuts cuts;
    Meaning meaning;
    auto operator<=>(const AtomsKey&) const = default;
  };

  // What leaves room for chance and was taken, when so many sizes had been learned.
  struct Guess {
    dim::Dim size;
    size_t num_learned;
  };

  static constexpr size_t kFewestToRank = 3;

  void note_taken(const std::vector<int64_t>& wanted, Taken taken) const;
  void note_rounded(dim::Dim size) const;
  // Whether all that it is of is known at the place.
  bool is_known(dim::Dim size, const Around& around) const;
  // Takes note of what was taken.
  void take(const std::vector<int64_t>& wanted, const Solution& taken, const Around& around) const;

  bool follows_guess(dim::Dim size, std::span<const int64_t> wanted, const Around& around) const;
  std::vector<Atom> atoms_of(std::span<const int64_t> wanted, const Around& around) const;
  // Whether there are as many traces as it takes to rank what leaves room for chance.
  bool ranks(std::span<const int64_t> wanted) const { return wanted.size() >= kFewestToRank && !unseen_.empty(); }
  // What it is at each point; nullptr where it has no value at one.
  const std::vector<int64_t>* values_of(dim::Dim size) const;
  dim::Dim size_of_tensor(std::span<const int64_t> wanted) const;
  std::vector<dim::Dim> tensors_as_large(std::span<const int64_t> wanted) const;
  std::vector<Solution> other_sizes(std::span<const int64_t> wanted, const Taken& taken) const;
  using AlikeSizes = std::unordered_map<const dim::Atom*, std::vector<std::pair<dim::Dim, std::vector<int64_t>>>>;
  const AlikeSizes& alike_sizes() const;
  const std::vector<Term>& terms_of(std::span<const int64_t> wanted, const Around& around) const;
  bool is_exact(dim::Dim size, size_t num_traces) const;
  Solution solution_of(const Term& term, size_t num_traces) const;
  // By what sizes are cut, as other integers than these tell.
  std::vector<int64_t> cuts_for(std::span<const int64_t> wanted) const;
  // The terms behind what was found, by bits; of two traces, those that are about as plain as the first.
  void add_terms(std::vector<Solution>& found, size_t most, std::span<const int64_t> wanted,
                 const Around& around) const;
  // Of two traces: the first solutions and some more.
  std::vector<Solution> open_solutions(std::span<const int64_t> wanted, size_t skipped, const Around& around) const;

  std::span<const Variable> variables_;
  const Choices* choices_;
  const TensorSizes* tensors_;
  std::map<int64_t, dim::Dim> decided_;
  bool sure_ = false, leaves_unsolved_ = false;
  mutable std::map<std::vector<int64_t>, dim::Dim> unsolved_;
  std::set<std::vector<int64_t>> distances_;
  std::vector<std::vector<int64_t>> unseen_;
  mutable std::map<std::vector<int64_t>, Rule> solved_;
  mutable std::map<std::vector<int64_t>, std::vector<Taken>> taken_;
  mutable std::optional<SharedRemainders> shared_remainders_;
  mutable std::optional<AlikeSizes> alike_sizes_;
  mutable std::unordered_set<const dim::Atom*> rounded_;  // the roundings of all that was taken
  mutable std::vector<dim::Assignment> points_;           // the traces', then those that were drawn
  mutable std::unordered_map<const dim::Expr*, std::optional<std::vector<int64_t>>> values_;
  ToldCuts cuts_;
  mutable ToldCuts told_cuts_;
  // Of what tables may be counted by: what was taken for it, where one of them is.
  mutable std::unordered_map<const dim::Expr*, std::vector<std::pair<std::vector<int64_t>, Taken>>> counted_;
  mutable std::unordered_map<const dim::Atom*, std::set<std::vector<int64_t>>>
      leading_;                                 // in what was taken and leads: the integers that tell it
  mutable std::shared_ptr<Proposer> proposer_;  // of one trace
  mutable Forms forms_;
  mutable std::map<TermKey, std::vector<Term>> terms_;
  mutable std::map<AtomsKey, Terms> terms_over_;
  mutable std::map<std::vector<int64_t>, std::vector<Solved>> open_;
  mutable std::vector<dim::Dim> guessed_;
  std::unordered_map<const dim::Expr*, size_t> learned_;                // sizes of tensors, by how many were before
  mutable std::map<std::vector<int64_t>, std::vector<Guess>> guesses_;  // taken at any time
  mutable std::set<std::vector<int64_t>> guessed_amounts_;  // solved by what guesses how it is rounded, at any time
  std::vector<dim::Dim> follow_guesses_;
};

}  // namespace thaw::lifting
