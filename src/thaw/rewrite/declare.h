// Declaring what is true: names and shapes of inputs, outputs and value_info.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

// A name stands for one size everywhere; equal expressions have equal names; a declared number or name that the graph
// contradicts is gone; a name of the user's that is true stays. New names are the expression itself
// ("floor(height/8)"), which names where the size comes from and cannot clash. A size that is not known is declared
// without name and value: ONNX Runtime then shares no buffer on its account.
//
// A number that `is_frozen` knows to be one only because something before it is frozen is not written over a name: a
// tensor between others then declares nothing, and an output keeps the name of the size that it was meant to have.
using IsFrozen = std::function<bool(const ir::Value& value, size_t axis)>;
void declare_truly(PassContext& context, const IsFrozen& is_frozen = {});
void declare_truly(ir::Model& model);

// What a model's outputs declare, before a rewrite that leaves their sizes alone.
std::vector<ir::Type> declared_outputs(const ir::Model& model);

// The outputs declare those sizes again, whatever is known of them by now: names, also where a size is frozen or has a longer
// expression, and numbers that nothing contradicts but an expression. Element types stay, and so does another number of axes.
void keep_declared_outputs(ir::Model& model, const std::vector<ir::Type>& declared);

// Drops what is declared of the tensors inside a graph and the shapes of what its subgraphs return, for a rewrite that
// makes them something else. One that has declared these anew keeps them: they tell what a Loop collects where it does
// not run at all.
enum class Returned : uint8_t { kForget, kKeep };
void forget_declarations(ir::Graph& graph, Returned returned = Returned::kForget);

}  // namespace thaw::rewrite
