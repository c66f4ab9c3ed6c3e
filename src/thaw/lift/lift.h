// thaw lift: several static traces of one model in, one model for every size out.
//
// Traces of one model differ only where sizes were frozen. Aligned node by node, what differs are integers, each solved
// as the simplest expression of the inputs' dims and values (solve.h), and tables, each fitted by a generator
// (table.h). A fit must give every entry of every trace. What is not explained is reported and nothing is guessed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lift {

struct Options {
  std::vector<AddedInput> added;
  std::set<std::string> keep_static;  // constants (by name in the first trace) that stay as they are there
};

struct Note {
  std::string where;    // "Split 'node' reads 'tensor'"
  std::string message;  // what it became, or why it is not explained
  // What it was in each trace, the evidence: "22", "30"; "[1, 22, 30]"; "float32[660,1,16]". Empty where no constant is
  // meant.
  std::vector<std::string> at = {};
};

struct Report {
  std::vector<Note> variables;  // "num_patches": "384, 660, 560"
  std::vector<Note> lifted;
  // With three traces or more, one is held back: what the others alone would have said is compared with what was said.
  std::vector<Note> held_back;
  // What inference says of the sizes at others than the traces', and what was solved otherwise on its account.
  std::vector<Note> inferred;
  std::vector<Note> unexplained;  // empty: the model is whole
};

// Changes the first trace's model into the lifted one. Throws thaw::Error where the traces cannot be aligned. With
// something unexplained the model must not be used.
Report lift(std::vector<Trace>& traces, const Options& options);

}  // namespace thaw::lift
