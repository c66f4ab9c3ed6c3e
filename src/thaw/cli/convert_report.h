// What `thaw convert` says: what became of the nodes, and what each output lost.
#pragma once

#include <string>

#include "thaw/cli/written.h"
#include "thaw/convert.h"

namespace thaw::cli {

std::string convert_text(const ConvertReport& report, const Written& files, bool explain);
std::string convert_json(const std::string& model, const ConvertReport& report, const Written& files);

}  // namespace thaw::cli
