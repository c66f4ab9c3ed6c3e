// Which opset a model for a backend has.
#pragma once

#include "thaw/ops/target/target.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Changes a model to the opset at which a table of ONNX's own operators has no kernel for the fewest of its nodes: its own, or the
// table's newest where that is older, or one before it. Where none has an equal of every node, the model stays as it is, and
// `changes.left` says why.
// With `least` none before that: a model of an older opset is taken to one from there on.
void change_to_opset_of(const ops::TargetDomain& taken, rewrite::PassContext& context, int64_t least = 0);

}  // namespace thaw::optimizing
