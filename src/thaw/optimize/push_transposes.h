// Transposes moved through what works along any axes alike, where fewer are left then.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Between Transposes, nodes that work on each element alone, or name the axes that they work along, take their operands in the
// order in which those come before the Transposes. Parts of the graph are found by one walk; one is rewritten where it has fewer
// Transposes afterwards, of no more elements: none is only moved. Small constants are transposed, and those that nothing else
// reads. Nothing adds floats in another order: it would round otherwise, and what is a norm with its Transposes is none without. Returns how many parts.
int push_transposes(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
