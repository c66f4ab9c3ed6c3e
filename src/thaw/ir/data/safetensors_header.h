// The JSON header of a safetensors file. Internal to ir/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/data/safetensors.h"

namespace thaw::ir {

struct SafetensorsHeader {
  std::vector<Safetensors::Entry> entries;  // as they stand in the header
  std::map<std::string, std::string> metadata;
};

// Throws thaw::Error for what is not such a header. Ranges are checked no further than that offset <= end.
SafetensorsHeader read_safetensors_header(std::string_view json, const std::string& file);

}  // namespace thaw::ir
