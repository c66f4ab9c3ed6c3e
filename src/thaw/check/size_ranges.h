// The model's sizes as a range spec gives them: symbols with ranges, and inference over them. Internal to check/.
#pragma once

#include "thaw/dim/text/range_spec.h"
#include "thaw/infer/infer.h"

namespace thaw::checking {

struct SizeRanges {
  dim::Scope scope;
  infer::Result result;
};

// Throws thaw::Error for a name that no input has, naming those there are. A size that the spec does not name may be
// anything from 1.
void infer_over(const ir::Model& model, const dim::SpecGroup& spec, SizeRanges& out);

}  // namespace thaw::checking
