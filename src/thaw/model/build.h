// thaw build: from a checkpoint to ONNX.
//
//   BuildReport report = build(Checkpoint::open("Qwen3-VL-4B"), "out", {"all"}, options);
//
// Each part is written as <part>.onnx with its weights in <part>.onnx.data, whole or not at all. Weights stream from
// the mapped checkpoint; peak memory does not depend on their size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/model/checkpoint.h"
#include "thaw/model/options.h"

namespace thaw::model {

using thaw::BuildReport;
using thaw::BuiltFile;

// `part`: a part of the family, or "all". Throws thaw::Error for a part that the family does not have, options that do
// not go together, and everything that is wrong with the checkpoint. Nothing is written before every part is built.
BuildReport build(Checkpoint checkpoint, const std::filesystem::path& folder, const std::string& part, Options options);

}  // namespace thaw::model
