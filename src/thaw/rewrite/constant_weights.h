// Weights that are inputs too, as files of IR versions before 4 must list them, and some exporters do long after. They are
// defaults that hardly anyone replaces: constants to all that look at a model, but where vary_defaults() says otherwise.
#pragma once

#include <string>
#include <unordered_set>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// How many initializers are inputs too, where that makes them defaults that a caller may replace (from IR version 4 on): no
// constants, for whoever folds or converts them. Before it is 0: they are constants, and are listed because they had to be.
int count_replaceable(const ir::Model& model);

// "12 weights are inputs too, …, and stay as they are"
std::string describe_replaceable(int count);

// "12 weights are inputs too: …": what a verb says that took them as constants, in a line; empty for none.
std::string describe_taken_weights(int count);

// From here on they are no constants of this model: a caller feeds others.
void vary_defaults(ir::Model& model);

// The inputs with a default that something reads, and, after a rewrite, those among them that nothing reads any more: what
// was made of their numbers holds for these alone, so that they are taken off the inputs rather than ignored.
std::unordered_set<const ir::Value*> read_defaults(const ir::Model& model);
void drop_unread_defaults(ir::Model& model, const std::unordered_set<const ir::Value*>& were_read);

// They are constants: the inputs of their names go. A model of an older IR version gets 4, the first that allows that.
// Returns how many they are.
int make_weights_constants(ir::Model& model);

// The other way, after a rewrite: the initializers of the main graph that are not among `known` become inputs, where the model's
// IR version asks for it.
void list_initializers(ir::Model& model, const std::unordered_set<const ir::Value*>& known);

}  // namespace thaw::rewrite
