// `thaw run FOLDER`: the models that `thaw build --kv-cache` wrote, together.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "thaw/cli/options.h"
#include "thaw/generate.h"

namespace thaw::cli {

struct FolderArguments {
  std::vector<std::string> images, recordings;
  std::vector<std::vector<std::string>> clips;
  std::string checkpoint, tokens;
  GenerateOptions generate;

  // Whether any of them is given: they are for folders alone.
  bool any() const;
};

void add_folder_options(CLI::App& app, FolderArguments& arguments);

// Prints the text as it comes, and what it took.
int run_folder(const std::string& folder, FolderArguments arguments, const SessionOptions& session, Format format);

}  // namespace thaw::cli
