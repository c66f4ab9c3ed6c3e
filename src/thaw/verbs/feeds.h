// What a model is fed, once its inputs are known.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"
#include "thaw/run/feeds.h"

namespace thaw::verbs {

// With the arrays of FeedOptions::files, which are held against the inputs of `model` before they are read.
FeedOptions with_files(const FeedOptions& feeds, const ir::Model& model);
FeedOptions with_files(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs);

}  // namespace thaw::verbs
