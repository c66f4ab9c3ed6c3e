// One try at thawing a copy of a trace, with its tables as long as one guess says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/finding.h"
#include "thaw/fix/fix.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/onetrace/probe.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/lift/onetrace/tables.h"

namespace thaw::lifting::onetrace {

// What every attempt at a trace goes by.
struct Task {
  const Sizes& sizes;
  std::span<const AddedInput> added;
  const std::vector<Table>& tables;
  Tolerance tolerance;
  FixOptions fix;
};

struct AttemptReport {
  bool confirmed = false;
  std::vector<Note> changed, left;
  std::vector<ReferenceCase> cases;
  std::vector<std::string> notes;
  int tries = 0;
  bool bounded = false;  // more could have been tried
  bool joined = false;   // some constants were taken for one
};

// Changes the model; unless confirmed it must not be used.
// `joined`: constants that hold the same in the same role are one.
AttemptReport attempt(ir::Model& model, dim::Scope& scope, const Task& task, const Lengths& lengths, bool joined,
                      int most_tries);

}  // namespace thaw::lifting::onetrace
