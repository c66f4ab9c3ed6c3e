// thaw.toml: how `thaw check` is called, for every call. It may be a stranger's, as the folder that it is in may be.
//
//   [check]
//   target = "directml"              # looks for more
//   select = ["THAW00", "THAW01"]    # rules, or what their codes begin with
//   ignore = ["THAW004"]
//   exit-zero = true
#pragma once

#include <string>
#include <vector>

#include "thaw/check.h"

namespace thaw::cli {

struct CheckConfig {
  CheckSettings settings;  // what is told of it
  RuleChoice counting;
  std::string target;
  bool exit_zero = false;
};

// Of the file that the call names, which is obeyed in all; of none, of the thaw.toml in the working folder, which is
// obeyed in what looks for more: what turns findings off is for the call to say. Never of one beside a model. Throws
// thaw::Error naming file and line for what is no TOML or no setting of `check`.
CheckConfig read_config(const std::string& named);

// For each folder with a thaw.toml that is not the one that was read, a clause that says so.
std::vector<std::string> skipped(const std::vector<std::string>& models, const std::string& read);

}  // namespace thaw::cli
