// How `thaw convert --to int8` quantizes.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/convert.h"

namespace thaw::cli {

void add_int8(CLI::App& app, Int8Options& int8);

}  // namespace thaw::cli
