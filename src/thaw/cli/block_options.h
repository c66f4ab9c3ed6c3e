// Options of verbs that put weights into blocks of few bits.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/convert.h"

namespace thaw::cli {

// --method, --block, --symmetric, --accuracy-level. `with_samples`: the verb takes samples, which some methods need.
void add_blocks(CLI::App& app, BlockOptions& blocks, bool with_samples);

}  // namespace thaw::cli
