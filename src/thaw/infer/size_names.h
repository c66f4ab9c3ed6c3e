// The names of a model's sizes, as the inference found them.
#pragma once

#include "thaw/dim/text/size_names.h"
#include "thaw/infer/infer.h"

namespace thaw::infer {

// Of the graph's inputs, those with a default too, in their order. `facts` are the model's in `scope`, which must
// outlive what comes back.
dim::SizeNames size_names(const ir::Model& model, const Result& facts, const dim::Scope& scope);

}  // namespace thaw::infer
