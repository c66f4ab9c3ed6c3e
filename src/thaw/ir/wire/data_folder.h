// The folder of a model's external data.
#pragma once

#include <filesystem>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// That which the locations of its tensors are relative to, absolute; empty for a model from memory without external data.
std::filesystem::path data_folder_of(const Model& model);

}  // namespace thaw::ir
