// Sizes of a shape that holds as many elements as what it is given to.
#pragma once

#include "thaw/ops/rule/fact.h"

namespace thaw::lifting {

// sizes: of a Reshape's target as they were solved, one by one; unknown where nothing gave it. elements: how many its data
// holds. Where the sizes do not come to that, one of them was solved by chance, or never differed between the traces, and
// is what the others leave; the last that varies first. Does nothing where one of them is left to be inferred (0, -1).
void keep_elements(ops::Shape& sizes, dim::Dim elements);

}  // namespace thaw::lifting
