// The steps of lifting, in their order (lift.cc), and what they hand on to each other. Internal to lift/.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/lift/align/align.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/domain/roundings.h"
#include "thaw/lift/holdout.h"
#include "thaw/lift/loop/window_body.h"
#include "thaw/lift/solve/steady_sizes.h"

namespace thaw::lifting {

// Constants that are the same in every trace, wherever they stand: fitted, and made, once. Every layer of a tower has
// tables of its own that are.
struct FittedTable {
  std::vector<const Difference*> readers;
  TableFit fit;
  std::vector<std::vector<int64_t>> padded = {};  // of a Pad's amounts: the sizes of its data in the traces
  std::set<std::string> given_to = {};            // of a shape: data whose sizes say the same
  std::vector<dim::Dim> written_by = {};          // sizes that its nodes compute it of
  bool is_given_back = false;                     // told by what stands around its first reader (Around::given_back)
};

// Loops over the same windows.
struct WindowLoops {
  std::vector<std::vector<int64_t>> lengths;  // by trace
  std::vector<std::pair<const Loop*, LoopBody>> loops = {};
  std::optional<int64_t> size = {};  // of all windows but the last
  std::optional<TableFit> fit = {};  // of the lengths, where they are not all equal
};

// What attempts before this one found of the traces.
struct Found {
  ToldCuts cuts = {};                      // by which numbers sizes are cut
  std::set<std::string> plain_loops = {};  // aligned branch by branch (align.h)
  FittedBefore fitted = {};
  int cut_rounds = 0;  // after which axes were cut that no trace needed cut (other_cuts.h)
};

struct Lifting {
  Lifting(std::vector<Trace>& all, const LiftOptions& how, const Choices& chosen, Found& known, bool trial)
      : traces(all), options(how), choices(chosen), found(known), is_trial(trial) {}
  Lifting(const Lifting&) = delete;
  Lifting& operator=(const Lifting&) = delete;

  std::vector<Trace>& traces;
  const LiftOptions& options;
  const Choices& choices;
  Found& found;
  bool is_trial;  // only compared with another attempt: nothing is held out
  ir::Model& model() const { return *traces.front().model; }
  LiftReport report;

  // What the traces say.
  std::shared_ptr<dim::Scope> scope_of_sizes = std::make_shared<dim::Scope>();
  dim::Scope& scope = *scope_of_sizes;
  std::vector<Variable> variables;
  TensorSizes tensor_sizes;
  TensorShapes tensor_shapes;
  ToldRoundings told;
  std::optional<Solver> solver;
  std::optional<TableContext> context;
  std::optional<Holdout> holdout;  // none of a trial
  Alignment alignment;
  // Constants that are the same in every trace, and sizes all the same.
  std::vector<std::unique_ptr<Difference>> steady_constants;
  std::vector<SteadySize> steady_sizes;
  WindowsOfPads windows_of_pads;
  std::vector<WholeSize> sizes_at_no_ops;
  std::vector<FittedTable> tables;
  std::vector<Undecided> undecided;             // what no trace varies tells of the rest
  std::vector<Note> unsolved;                   // integers that are left to what the nodes need of them
  std::vector<Limit> limits;                    // of those that were written, and of axes that are cut
  std::vector<NumberOfSizes> numbers_of_sizes;  // in these
  std::vector<WindowLoops> windows;
  std::set<std::string> steady_loops;  // that are no batch of windows, and have as many branches in every trace

  // What writes the nodes; set by declare_inputs.
  std::optional<rewrite::Emitter> nodes;
  std::optional<rewrite::DimEmitter> sizes;
  WrittenSizes written;  // of all that the emitter wrote
};

// Explaining: what is not explained stands in the report. The traces' models stay what they are, less what nothing reads.
void find_sizes(Lifting& lifting);
void align_traces(Lifting& lifting);
void note_distances(Lifting& lifting);
void fit_tables(Lifting& lifting);
void question_distances(Lifting& lifting);
void batch_windows(Lifting& lifting);
void compare_holdout(Lifting& lifting);

// Writing into the first trace's model what was explained.
void declare_inputs(Lifting& lifting);
void write_tables(Lifting& lifting);
void write_windows(Lifting& lifting);
void declare_anew(Lifting& lifting);
void state_sizes_of_inputs(Lifting& lifting);

constexpr int64_t kFormOpset = 13;  // what operators look like here and in table/

// Dims that follow from other dims in every trace, each with what it follows from; none where the model holds without that.
std::vector<std::pair<dim::Dim, dim::Dim>> followed_by_need(const ir::Model& lifted,
                                                            std::span<const Variable> variables,
                                                            const std::unordered_set<const ir::Node*>& traced);
// The model and the report say so.
void state_followed(ir::Model& model, LiftReport& report, const std::vector<Note>& followed);

// The shape of each input in the variables; the inputs whose sizes are read.
std::unordered_map<const ir::Value*, ops::Shape> input_shapes(const Lifting& lifting);
// Where variables that are no dims are read from.
void read_values(const Lifting& lifting, rewrite::DimEmitter& sizes);
// What a trace says that it is valid for is not what the lifted model is, and what an attempt before said is taken back.
void drop_stated_domain(ir::Model& model);
// Ends the model, as it was written, with an error at sizes and values outside of the domain, which the report and the
// model's metadata then say.
void guard(Lifting& lifting, const Domain& domain);

}  // namespace thaw::lifting
