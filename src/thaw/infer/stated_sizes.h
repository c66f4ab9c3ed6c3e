// What a model says of the sizes and values of its inputs that their declarations cannot: `num_patches` is the sum of the
// products of `grid_thw`'s rows. It stands in the model's metadata, in the grammar of `check --sizes`
// (dim/text/range_spec.h), under one key; `build` and `lift` write what they know, and `check` goes by it
// (docs/metadata.md).
#pragma once

#include <string_view>

#include "thaw/dim/text/range_spec.h"
#include "thaw/ir/graph/model.h"

namespace thaw::infer {

inline constexpr std::string_view kStatedSizesKey = "thaw.sizes";
// What a lifted model is known for: multiples of what all traces are, say.
inline constexpr std::string_view kValidSizesKey = "thaw.valid_sizes";
inline constexpr std::string_view kOldValidSizesKey = "thaw.domain";  // as versions before 0.2 wrote it

// What the model states under these keys; nothing where it states nothing, or nothing that can be read: a file may be anybody's.
dim::SpecGroup stated_sizes(const ir::Model& model);

// Adds entries ("num_patches=sum(grid_thw[:,0]*grid_thw[:,1]*grid_thw[:,2])") to what it states.
void state_sizes(ir::Model& model, std::string_view entries);

}  // namespace thaw::infer
