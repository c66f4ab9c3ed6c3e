// An error in what verbs print as JSON.
#pragma once

#include "thaw/core/error.h"
#include "thaw/report/json_writer.h"

namespace thaw::cli {

// "error", with its code and parts, as a member of the object that is open.
void write_error(report::JsonWriter& json, const Error& error);

}  // namespace thaw::cli
