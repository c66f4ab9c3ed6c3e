// Options of verbs that put weights into blocks of few bits.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/convert.h"

namespace thaw::cli {

// --method, --block, --symmetric, --accuracy-level.
void add_blocks(CLI::App& app, BlockOptions& blocks);

}  // namespace thaw::cli
