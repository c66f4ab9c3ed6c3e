// Files that are taken for ONNX models and are something else, known by their first bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "thaw/core/error.h"

namespace thaw::ir {

// What the file is and what to do with it; nullopt for what may be a damaged ONNX model.
std::optional<ErrorParts> foreign_file(std::span<const std::byte> bytes, const std::filesystem::path& path);

// The same of a folder: a checkpoint that `thaw build` takes, the folder of a model.
ErrorParts folder_instead_of_model(const std::filesystem::path& folder);

}  // namespace thaw::ir
