// An array in what verbs print as JSON.
#pragma once

#include <string_view>

#include "thaw/array.h"
#include "thaw/report/json_writer.h"

namespace thaw::cli {

// "name", "dtype" and "dims", as members of the object that is open.
void write_type(report::JsonWriter& json, std::string_view name, const Array& array);

}  // namespace thaw::cli
