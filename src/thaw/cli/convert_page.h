// The page that `thaw convert --report` writes.
#pragma once

#include <string>

#include "thaw/cli/written.h"
#include "thaw/convert.h"

namespace thaw::cli {

// `output`: the file that was asked for; what was written is in `files`.
std::string convert_page(const std::string& model, const std::string& output, const ConvertReport& report,
                         const Written& files);

}  // namespace thaw::cli
