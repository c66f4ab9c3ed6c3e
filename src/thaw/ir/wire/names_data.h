// Whether a model file has weights in other files, without loading it.
#pragma once

#include <filesystem>

namespace thaw::ir {

// False only where the file holds a well-formed message in which no tensor has data elsewhere. Weights are stepped over.
bool may_name_data_files(const std::filesystem::path& model);

}  // namespace thaw::ir
