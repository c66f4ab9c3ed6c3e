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

// Of the main graph's initializers.
uint64_t weight_bytes(const ir::Model& model);

// Why running the model would take more memory than there is left; empty where it would not.
std::string lacks_memory(const ir::Model& model);

// How a model is run once or twice: nothing is kept for the next time.
SessionOptions check_session();

void note_inputs(const Arrays& feeds, RunCheck& check);

// How near two outputs must be: a share of the largest element, and of no less than `least_scale`.
struct Closeness {
  double share = 1e-3;        // of floats of more than 16 bits; 1e-2 of the others
  double least_scale = 1e-6;  // so that an output of zeros may be next to nothing
};
// For a result that rounds as the model does: a model with weights of 16 bits computes in 16 bits, whatever its outputs are.
Closeness closeness_of(const ir::Model& model);

// Adds one output to the check. A NaN or infinity that only one side has is a difference.
void compare_output(const std::string& name, const Array& wanted, const Array& got, RunCheck& check,
                    const Closeness& closeness = {});
// All that are wanted.
void compare_outputs(const Arrays& wanted, const Arrays& got, RunCheck& check, const Closeness& closeness = {});
// A check that could not compare.
void fail_check(RunCheck& check, std::string message);

bool all_agree(const std::vector<RunCheck>& checks);

}  // namespace thaw::confirm
