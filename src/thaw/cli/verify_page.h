// What `verify` compared, as a page: a heat map of the sweep, and every figure as a table.
#pragma once

#include <string>

#include "thaw/verify.h"

namespace thaw::cli {

std::string verify_page(const VerifyOptions& options, const VerifyReport& report);

}  // namespace thaw::cli
