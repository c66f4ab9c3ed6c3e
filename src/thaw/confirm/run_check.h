// A result beside what it should be: the evidence that `thaw lift` and `thaw batch` ask for before they write a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

using thaw::RunCheck;

// Why running the model would take more memory than there is left; empty where it would not.
std::string lacks_memory(const ir::Model& model);

// How a model is run once or twice: nothing is kept for the next time.
SessionOptions check_session();

void note_inputs(const Arrays& feeds, RunCheck& check);

// Adds one output to the check. A NaN or infinity that only one side has is a difference.
void compare_output(const std::string& name, const Array& wanted, const Array& got, RunCheck& check);
// All that are wanted.
void compare_outputs(const Arrays& wanted, const Arrays& got, RunCheck& check);
// A check that could not compare.
void fail_check(RunCheck& check, std::string message);

bool all_agree(const std::vector<RunCheck>& checks);

}  // namespace thaw::confirm
