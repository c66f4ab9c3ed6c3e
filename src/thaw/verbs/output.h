// Where a verb's result goes: what is asked before the work, what is written after it.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw::verbs {

// Before any work: throws thaw::Error unless what is made of `read` can be written there, under these names. A path that is the
// file that was read is refused unless Output::in_place says so. Nothing is asked of an empty path.
void require_output(const ir::Model& read, const Output& output);
// Once the result is there and before it is run: throws for sizes that it has not, and for names that others have.
void require_renames(ir::Model& result, const Output& output);
void require_renames(std::span<ir::Model* const> results, const Output& output);

// Renames sizes of an accepted result, and writes it where Output::path says where.
Files publish(ir::Model& result, const Output& output);
// Several, at `paths`, which share one file of data.
Files publish_together(std::span<ir::Model* const> results, std::span<const std::filesystem::path> paths,
                       const Output& output);

// Throws thaw::Error where `path` is one of the files that the call reads or writes, by another name or through a link too.
void require_other_file(const std::filesystem::path& path, std::span<const std::filesystem::path> others);

}  // namespace thaw::verbs
