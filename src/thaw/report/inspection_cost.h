// What a model computes and moves, as `thaw inspect --cost` shows it.
#pragma once

#include <string>

#include "thaw/report/inspection.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

// A table, the operators that compute most first as far as that is known, and the sum.
std::string cost_text(const Inspection& seen);
// {"flops", "bytes", "operators": [{"operator", "nodes", "flops", "bytes", …}], …}
void write_cost(JsonWriter& json, const Inspection& seen);

}  // namespace thaw::report
