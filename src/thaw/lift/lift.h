// thaw lift: several static traces of one model in, one model for every size out.
//
// Traces of one model differ only where sizes were frozen. Aligned node by node, what differs are integers, each solved
// as the simplest expression of the inputs' dims and values (solve.h), and tables, each fitted by a generator
// (table.h). A fit must give every entry of every trace. What is not explained is reported and nothing is guessed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "thaw/lift.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

using thaw::Note;
using Options = LiftOptions;
using Report = LiftReport;

// Changes the first trace's model into the lifted one. Throws thaw::Error where the traces cannot be aligned. With
// something unexplained the model must not be used.
Report lift(std::vector<Trace>& traces, const Options& options);

}  // namespace thaw::lifting
