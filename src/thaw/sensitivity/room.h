// Whether the disk has room for the converted model, told from shapes before anything is measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"

namespace thaw::measuring {

struct LeastBytes {
  uint64_t all = 0;        // of the model's weights
  uint64_t converted = 0;  // of those that are made: they lie in no file
};
// What the model's weights take at least when these nodes are in that precision: of all weights that such a node reads the numbers alone,
// without scales and zeros. Of 16 bits all weights of the model are.
LeastBytes converted_bytes_at_least(const ir::Model& model, const std::vector<std::string>& nodes,
                                    const PrecisionOptions& precision);

// Throws thaw::Error (kCannotWrite) where the folder's disk has less than these bytes left. `model`: what it is called.
void require_room(uint64_t bytes, const std::filesystem::path& folder, const std::string& model);

}  // namespace thaw::measuring
