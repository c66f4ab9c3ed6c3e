// Where two models begin to differ: tensors that differ, though all that they are computed from agree.
//
// Both are run on the same numbers, and tensors inside them that have the same name are compared, a few at a time: of a tensor that differs
// some of those before it, spread over all; of the earliest of these that differs again some before it, until those right before one agree.
// What is found is so whatever lies between. That it was found in few runs rests on this: what a tensor that agrees was computed from is
// looked at last, and only where it stands right before one that differs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"
#include "thaw/run/session.h"
#include "thaw/verify.h"

namespace thaw::locate {

// Two models, or one of which the two run in other ways. They outlive the search.
struct Side {
  const ir::Model& model;
  SessionOptions how;
};

struct Question {
  Side model, reference;
  std::map<std::string, std::string> names;  // of the model -> of the reference, where they differ
  Tolerance tolerance;
  bool cast = false;
  Arrays feeds;                      // by the model's names
  std::vector<std::string> outputs;  // of the model, that differ
};

// `sizes` and `case_name` are the caller's to fill in. Throws thaw::Error where a side does not run.
DifferenceSearch find_first_differences(const Question& question);

}  // namespace thaw::locate
