// One trace and a reference: which of the trace's integers are sizes, found by proposing and confirmed by running.
//
//   1. For each integer that a shape is made of (constants.h), every simple expression of the input's dims and values
//      that gives it at the export's sizes is proposed (lift/solve/propose.h).
//   2. Inference at the sizes of the reference's cases rules out what cannot run (equations.h).
//      A constant with an axis that grows is a table: a generator that gives its entries takes its place (tables.h).
//      Where the table's length may be one size or another, each is tried.
//   3. What is left is run, the simplest first, until the reference's numbers come out in every case (search.h).
//   4. An expression that the cases do not tell from the number itself is taken back: it is not confirmed.
//   5. The expressions are written as nodes, and the model that results is run once more in every case.
//
// Nothing is confirmed unless all cases agree: a model that is half right is not one.
#pragma once

#include <filesystem>
#include <memory>

#include "thaw/fix.h"
#include "thaw/ir/graph/model.h"

namespace thaw::lifting::onetrace {

// Where it is confirmed, `model` becomes the thawed one; else it stays as it is.
FixReferenceReport thaw_trace(std::unique_ptr<ir::Model>& model, const std::filesystem::path& reference,
                              const FixReferenceOptions& options);

}  // namespace thaw::lifting::onetrace
