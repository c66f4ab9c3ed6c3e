// --values of thaw lift: what the traces' inputs were.
#pragma once

#include <filesystem>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::cli {

// A JSON file of all traces (lift/align/values.h), or an .npz file with the inputs of the trace that is called like it:
// trace_22x30.npz for trace_22x30.onnx. Integers give values, other arrays their shape. Throws thaw::Error.
void read_trace_values(const std::filesystem::path& path, std::vector<lifting::Trace>& traces);

}  // namespace thaw::cli
