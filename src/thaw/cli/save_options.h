// What the verbs that write a model share: --rename and --in-place.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/rename_sizes.h"

namespace thaw::cli {

struct SaveArguments {
  std::vector<std::string> rename;
  bool in_place = false;

  // What --rename says. Throws thaw::Error for texts that are not of the form.
  rewrite::SizeRenames renames() const;
  // Before the work is done: throws thaw::Error unless the model can be saved there, with these names. OUT may be the
  // file that was read where --in-place says so.
  void require(const ir::Model& read, const std::filesystem::path& output) const;
};

void add_rename(CLI::App& app, std::vector<std::string>& texts);
void add_save_options(CLI::App& app, SaveArguments& options);

}  // namespace thaw::cli
