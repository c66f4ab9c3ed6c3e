// Weights that are inputs too, as files of IR versions before 4 must list them, and some exporters do long after.
#pragma once

#include <string>
#include <unordered_set>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// How many initializers are inputs too, where that makes them defaults that a caller may replace (from IR version 4 on): no
// constants, for whoever folds or converts them. Before it is 0: they are constants, and are listed because they had to be.
int count_replaceable(const ir::Model& model);

// "12 weights are inputs too, …, and stay as they are"
std::string told_replaceable(int count);

// They are constants: the inputs of their names go. A model of an older IR version gets 4, the first that allows that.
// Returns how many they are.
int make_weights_constants(ir::Model& model);

// The other way, after a rewrite: the initializers of the main graph that are not among `known` become inputs, where the model's
// IR version asks for it.
void list_initializers(ir::Model& model, const std::unordered_set<const ir::Value*>& known);

}  // namespace thaw::rewrite
