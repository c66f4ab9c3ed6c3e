// Declaring what is true: names and shapes of inputs, outputs and value_info.
#pragma once

#include <cstdint>

#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

// A name stands for one size everywhere; equal expressions have equal names; a declared number or name that the graph
// contradicts is gone; a name of the user's that is true stays. New names are the expression itself
// ("floor(height/8)"), which names where the size comes from and cannot clash. A size that is not known is declared
// without name and value: ONNX Runtime then shares no buffer on its account.
void declare_truly(ir::Model& model, Changes& changes);
void declare_truly(ir::Model& model);

// Drops what is declared of the tensors inside a graph and the shapes of what its subgraphs return, for a rewrite that
// makes them something else. One that has declared these anew keeps them: they tell what a Loop collects where it does
// not run at all.
enum class Returned : uint8_t { kForget, kKeep };
void forget_declarations(ir::Graph& graph, Returned returned = Returned::kForget);

}  // namespace thaw::rewrite
