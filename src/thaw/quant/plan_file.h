// A plan: which node has which precision, as JSON.
//
//   {"default": "int4", "nodes": [{"name": "/lm_head/MatMul", "to": "int8-blocks", "block": 128}, …]}
//
// docs/converting.md has the schema.
#pragma once

#include <filesystem>

#include "thaw/convert.h"

namespace thaw::quantizing {

// Sets the default and adds the nodes; what an entry does not say is as in `options.precision`. Throws thaw::Error where the
// file is missing or no plan, naming the entry and key.
void read_plan(const std::filesystem::path& path, ConvertOptions& options);

}  // namespace thaw::quantizing
