// What stands behind thaw/build.h: the parts of a family, built one by one and written together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/build.h"
#include "thaw/model/checkpoint.h"

namespace thaw::model {

// Throws thaw::Error for a part that the family does not have, options that do not go together, and everything that is
// wrong with the checkpoint. Nothing is written before every part is built.
BuildReport build(Checkpoint checkpoint, const std::filesystem::path& folder, BuildOptions options);

}  // namespace thaw::model
