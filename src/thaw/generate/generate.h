// What stands behind thaw/generate.h.
#pragma once

#include "thaw/generate.h"

namespace thaw::generating {

Generated generate(const std::filesystem::path& folder, const GenerateOptions& options);

}  // namespace thaw::generating
