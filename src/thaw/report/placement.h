// Where the nodes of a model ran: on which execution provider, and for how long.
#pragma once

#include <string>

#include "thaw/report.h"
#include "thaw/report/json_writer.h"
#include "thaw/run.h"

namespace thaw::report {

// A table of the providers, what fell to the CPU beside others, and what took longest; with `how.all` every node.
std::string placement_text(const Placement& placement, const TextOptions& how);

// "placement": {"runs", "seconds", "nodes": [{"name", "op_type", "provider"}], "timed": [{…, "seconds", "is_copy"}]}.
void write_placement(JsonWriter& json, const Placement& placement);

}  // namespace thaw::report
