// Which outputs of `thaw verify --prove` are equal at every size (thaw/verify.h), as text and JSON.
#pragma once

#include <string>

#include "thaw/report/json_writer.h"
#include "thaw/verify.h"

namespace thaw::report {

// A line for each output; empty where nothing was to be proven.
std::string proofs_text(const VerifyReport& report);

// "outputs": [{"name", "verdict", "place"}], "terms", "rounded_constants", "rounding_steps"; nothing where nothing was to be proven.
void write_proofs(JsonWriter& json, const VerifyReport& report);

}  // namespace thaw::report
