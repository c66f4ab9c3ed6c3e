// Explaining what differs between traces: every constant as sizes or a table, every loop as a batch of windows.
// Internal to lift/.
#pragma once

#include <optional>
#include <vector>

#include "thaw/lift/align/align.h"
#include "thaw/lift/lift.h"
#include "thaw/lift/loop/window_body.h"
#include "thaw/lift/solve/holdout.h"

namespace thaw::lift {

// Constants that are the same in every trace, wherever they stand: fitted, and made, once. Every layer of a tower has
// tables of its own that are.
struct Group {
  std::vector<const Difference*> readers;
  TableFit fit;
};

// Loops over the same windows.
struct LoopGroup {
  std::vector<std::vector<int64_t>> lengths;  // by trace
  std::vector<std::pair<const Loop*, LoopBody>> loops;
  std::optional<int64_t> size;  // of all windows but the last
  std::optional<TableFit> fit;  // of the lengths, where they are not all equal
};

class Explanation {
 public:
  // Explains all that it can; the report says what it cannot.
  Explanation(std::vector<Trace>& traces, const Options& options, const Choices& choices);
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;

  const dim::Scope& scope() const { return scope_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<LoopGroup>& loop_groups() const { return loop_groups_; }
  // What was solved, by the wanted values.
  const std::map<std::vector<int64_t>, Rule>& solved() const { return solver_.asked(); }
  Report& report() { return report_; }

 private:
  void explain(const Difference& difference);
  void explain(const Loop& loop, const TraceShapes& shapes, const ir::Model& first);
  bool explain_lengths(LoopGroup& group, std::string& reason);

  const Options& options_;
  dim::Scope scope_;
  std::vector<Variable> variables_;
  TensorSizes tensor_sizes_;
  Solver solver_;
  TableContext context_;
  HeldBack held_back_;
  Alignment alignment_;
  Report report_;
  std::vector<Group> groups_;
  std::vector<LoopGroup> loop_groups_;
};

}  // namespace thaw::lift
