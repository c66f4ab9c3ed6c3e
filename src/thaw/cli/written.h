// What a verb wrote: the model's file and those of its data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/report/json_writer.h"

namespace thaw::cli {

using Written = std::vector<std::filesystem::path>;  // the model first; empty where nothing was written

std::string written_text(const Written& files);  // "wrote out.onnx", a line each
// "output": the model's path, or null; "files": all of them.
void write_output_member(report::JsonWriter& json, const Written& files);
void write_files_member(report::JsonWriter& json, const Written& files);

}  // namespace thaw::cli
