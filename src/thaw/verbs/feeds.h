// What a model is fed, once its inputs are known.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"
#include "thaw/run/feeds.h"

namespace thaw::verbs {

// With the arrays of FeedOptions::files, which are held against the inputs of `model` before they are read, as those are that the
// options have already. Throws thaw::Error (kInvalidArgument) for two of one input.
FeedOptions with_files(const FeedOptions& feeds, const ir::Model& model);
FeedOptions with_files(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs);
// Throws thaw::Error (kInvalidArgument) for an array of a shape that its input cannot have, whatever it was made of.
void require_shapes(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs);
// Throws thaw::Error (kInvalidArgument) where a file of cases has an array of an input that has one already.
void require_none_of(const FeedOptions& feeds, const std::vector<std::filesystem::path>& cases,
                     const std::vector<run::InputSpec>& inputs);

}  // namespace thaw::verbs
