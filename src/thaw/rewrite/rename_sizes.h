// Other names for sizes: "input.1_dim2" becomes "height", wherever it is declared.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// A size as dim/text/size_names.h names it, and its new name.
using SizeRenames = std::vector<std::pair<std::string, std::string>>;

// Throws thaw::Error for a new name that is none in the grammar of sizes, and a name that stands twice on a side.
void require_renames(const SizeRenames& renames);
// And what rename_sizes would throw, of one model and of several.
void require_renames(ir::Model& model, const SizeRenames& renames);
void require_renames(std::span<ir::Model* const> models, const SizeRenames& renames);

// Renames sizes of the model's inputs; declared expressions of them follow. An axis without a declared name gets one.
// Throws thaw::Error as require_renames, for a size that there is not or that is a number, and for a new name that
// another size has: equal names mean equal sizes.
void rename_sizes(ir::Model& model, const SizeRenames& renames);
// The same of several models, each of which may lack some of the sizes; not all of them.
void rename_sizes(std::span<ir::Model* const> models, const SizeRenames& renames);

}  // namespace thaw::rewrite
