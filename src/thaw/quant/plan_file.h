// A plan: which node has which precision, as JSON.
//
//   {"default": "int4", "nodes": [{"name": "/lm_head/MatMul", "to": "int8-blocks", "block": 128}, …]}
//
// Of several models:
//
//   {"parts": {"vision": {"default": …}, "text": {…}}}
//
// docs/guide/convert.md has the schema.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "thaw/convert.h"

namespace thaw::quantizing {

// Sets the default and adds the nodes; what an entry does not say is as in `options.precision`. Throws thaw::Error where the
// file is missing or no plan, naming the entry and key, where a node is in it twice, and where its default is another type
// than `options.precision` has. `model`: the file that is converted; of a plan for several the one of its name
// counts.
void read_plan(const std::filesystem::path& path, ConvertOptions& options, const std::filesystem::path& model = {});

// The default, the nodes and whether projections are joined, as such a file; what is as a reader takes it is left out.
std::string plan_text(const ConvertOptions& options);
// The same for several models, by name.
std::string plan_text(const std::map<std::string, ConvertOptions>& parts);

// One precision, an object of a plan; `where` is for messages.
PrecisionOptions parse_precision(const nlohmann::json& object, const std::string& where);

}  // namespace thaw::quantizing
