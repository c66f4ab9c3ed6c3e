#include "thaw/cli/limit_options.h"

#include "thaw/limits.h"

namespace thaw::cli {

void add_limits(CLI::App& app) { static_cast<void>(app); }

}  // namespace thaw::cli
