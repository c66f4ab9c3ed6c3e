// The models of a built folder as one, whose nodes are named by part and node as a plan of each part names them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// How a folder's parts become what their nodes are converted of.
struct FolderOptions {
  std::vector<PrecisionOptions> precisions;
  OptimizeTarget target = OptimizeTarget::kPortable;
  std::string backend = {};
  bool optimize = true;
};

struct OpenedFolder {
  std::unique_ptr<ir::Model> model;  // its path ends with the folder, where the external data of all parts is
  std::vector<std::string> parts;
};

// Each part is made ready by itself, as `convert` makes it: no rewrite reaches over a boundary. With the tower where prompts have files.
// Throws thaw::Error as open_built() and join_models() do.
OpenedFolder open_folder(const std::filesystem::path& folder, const PromptOptions& prompts, const FolderOptions& how);

// Its prompts with their answers.
quantizing::Samples open_prompts(const std::filesystem::path& folder, const PromptOptions& prompts);

}  // namespace thaw::measuring
