// The verbs as tools of `thaw mcp`. All that is told of one comes from what the verb declares (options.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "thaw/cli/verb.h"
#include "thaw/report/json_writer.h"

namespace thaw::cli {

// The verbs that print JSON; where nothing may be written, without those that cannot do without.
std::vector<const Verb*> mcp_tools(bool may_write);

// The members of a tool in tools/list: name, description, inputSchema (JSON Schema, draft 2020-12), annotations.
void write_tool(report::JsonWriter& json, const Verb& verb, bool may_write);

// The call of the verb with these arguments, without the program's name. Throws thaw::Error (kInvalidArgument) for arguments that the tool's
// schema does not take.
std::vector<std::string> words_of_call(const Verb& verb, const nlohmann::json& arguments, bool may_write);

}  // namespace thaw::cli
