// Solving what the traces have frozen of sizes, the surest first. Internal to lift/.
#pragma once

#include "thaw/lift/around/sizes_around.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// With what is explained so far in its place, inference knows more sizes: those behind a Pad whose amounts were solved.
// Whether it does, or knows some of them for another size than before.
bool learn_sizes(Lifting& lifting, const SizesAround& sizes);

// Solves the sizes that the inputs and the tensors around them tell, and has inference learn what follows; where that is
// no more, one that leaves room for chance, the first of the model. What stands behind it is then known for what it is,
// and need not be guessed.
void solve_sizes_in_order(Lifting& lifting, const SizesAround& sizes);

}  // namespace thaw::lifting
