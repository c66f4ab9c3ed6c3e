// What the user says of the traces: the values that their integer inputs had, and inputs to add.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// A JSON file {"trace_22x30.onnx": {"grid_thw": [[1, 22, 30]]}, …}: values by the name of the trace's file, nested as
// the axes are. Of an input of
// data, {"image": {"shape": [1, 3, 224, 224]}} tells the size where the trace declares names. Throws thaw::Error for a
// trace that is not among these, ragged lists and anything but integers.
void read_values(const std::filesystem::path& path, std::vector<Trace>& traces);

// "grid_thw:int64[1,3]".
AddedInput parse_added_input(const std::string& text);

}  // namespace thaw::lifting
