// Weights that are inputs too, as exporters listed them before IR version 4, and some of them long after.
#pragma once

#include <string>

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

}  // namespace thaw::rewrite
