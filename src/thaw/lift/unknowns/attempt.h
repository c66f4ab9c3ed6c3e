// The traces explained with some choices, and what the model that comes of it says of them. Internal to lift/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/ir/graph/transaction.h"
#include "thaw/lift.h"
#include "thaw/lift/solve/solve.h"
#include "thaw/lift/unknowns/conditions.h"
#include "thaw/lift/unseen/contradictions.h"

namespace thaw::lifting {

// What else an integer may be.
struct OpenChoice {
  std::vector<int64_t> wanted;  // in each trace
  size_t next = 0;              // to choose
  Rule rule = Rule::kConstant;  // of what was taken
  Agreement formulas;           // both, the other empty where it is made up, and sizes that tell them apart
  dim::Dim other = {};
  bool is_close = false;  // whether the other is so nearly as plain that how other sides are cut may tell which it is
  bool is_of_table = false;  // whether both are sizes of tensors that a table may be counted by: no node says of which
  bool is_of_remainders = false;  // whether both are the same wherever sizes leave the remainders that all traces' do
  std::vector<std::vector<int64_t>> telling = {};  // some sizes of the domain at which they differ
  std::vector<bool> differs = {};        // whether they do at each of the sizes that the solver knows as unseen
  std::vector<IntegerPlace> alone = {};  // where the other can stand, all else as it is
};

// The traces explained with some choices, and the first of them rewritten where all is explained.
struct Attempt {
  Choices choices;
  LiftReport report = {};
  ToldCuts cuts = {};  // by which numbers sizes are cut, of which the traces tell
  Contradictions contradictions = {};
  std::optional<std::vector<int64_t>> broken_at = {};  // sizes at which the proof finds a contradiction that they miss
  bool holds_steady = false;  // whether sizes that no trace varies are held, as other ones contradict the nodes
  bool is_unsolved = false;   // whether integers are left to what the nodes need of them
  std::shared_ptr<const Conditions> conditions = {};  // of the integers, where some contradict or are open
  std::shared_ptr<const Conditions> apart =
      {};                                 // the same, each place before the contradicted node an integer of its own
  size_t broken_where_tried = 0;          // of the sizes that a trial is asked of, too
  Contradictions beyond = {};             // of two traces: at sizes beyond theirs, which may have an end
  Contradictions of_any_step = {};        // at sizes that share no divisor with the traces'
  std::optional<Note> unconfirmed = {};   // where a trace that is held out confirms nothing (holdout.h)
  std::vector<OpenChoice> open = {};      // the least plain first (undecided.h)
  std::vector<std::string> emitted = {};  // the sizes that the rewrite computes
  std::vector<Note> followed = {};        // sizes, and what they follow from, without which it contradicts itself
  std::vector<std::vector<TableReader>> corrected = {};  // by trace
  std::unique_ptr<ir::Transaction> edit = {};            // the rewrite, taken back where nobody keeps it
  bool is_whole() const { return report.unexplained.empty(); }
};

// Of choices, what the nodes say of them, at these sizes too; nullopt where too little of the budget is left to ask.
using Trial = std::function<std::optional<Attempt>(Choices, const std::vector<std::vector<int64_t>>&)>;

}  // namespace thaw::lifting
