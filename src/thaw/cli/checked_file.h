// One of the models that `check` was given, or found in a folder that it was given, and what came of it.
#pragma once

#include <optional>
#include <string>

#include "thaw/check.h"
#include "thaw/cli/modules.h"
#include "thaw/core/error.h"

namespace thaw::cli {

struct CheckedFile {
  std::string path;
  CheckReport report;
  Modules modules;             // where a page is asked for
  std::optional<Error> error;  // it could not be checked
  bool exit_zero = false;
};

}  // namespace thaw::cli
