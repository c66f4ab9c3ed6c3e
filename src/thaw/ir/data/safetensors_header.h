// The JSON header of a safetensors file. Internal to ir/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/data/safetensors.h"

namespace thaw::ir {

// The entries as they stand in the header. Throws thaw::Error for what is not one. Ranges are checked no further than that
// offset <= end.
std::vector<Safetensors::Entry> read_safetensors_header(std::string_view json, const std::string& file);

}  // namespace thaw::ir
