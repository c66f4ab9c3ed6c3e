// Integers to feed where a model does not run with those that would be drawn.
#pragma once

#include <optional>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"

namespace thaw::confirm {

// `feeds`, and every integer that would be drawn is `number`; nullopt where none would be.
std::optional<FeedOptions> with_all_integers(const ir::Model& model, const FeedOptions& feeds, int number);

// `feeds`, and each input of rows of integers that may be the grid of an image, [rows, 2] or [rows, 3], is one row: two
// sides of `side`, with a count of 1 before them. nullopt where there is none.
std::optional<FeedOptions> with_grids_of(const ir::Model& model, const FeedOptions& feeds, int side);

}  // namespace thaw::confirm
