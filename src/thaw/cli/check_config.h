// thaw.toml: how `thaw check` is called for the models of a folder.
//
//   [check]
//   select = ["THAW00", "THAW01"]    # rules, or what their codes begin with
//   ignore = ["THAW004"]
//   exit-zero = true
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thaw::cli {

struct CheckConfig {
  std::filesystem::path file;  // where it was read
  std::optional<std::vector<std::string>> select, ignore;
  std::optional<bool> exit_zero;
};

// Of the thaw.toml beside the model, else of that in the working folder; empty where there is neither. Throws
// thaw::Error naming file and line for what is no TOML or no setting of `check`.
CheckConfig config_for(const std::filesystem::path& model);

}  // namespace thaw::cli
