// ONNX Runtime's profile of a session: which node ran on which provider, and for how long.
//
// ONNX Runtime writes it to a file that it names itself. In a worker, whose sandbox lets nothing be written, that file is memory
// (cmake/worker_open.cc), so that none is left behind. Internal to run/.
#pragma once

#include <string>
#include <string_view>

#include "thaw/run.h"

namespace thaw::run {

// Begins the paths that are memory.
inline constexpr std::string_view kProfileFolder = "/thaw-profile/";

// For what stands in for fopen(3): a descriptor of the memory that such a path stands for from now on; -1 for other paths, and where
// there is none.
int profile_memory(const char* path) noexcept;

// What was written to it, which is gone then; empty where nothing was.
std::string take_profile(const std::string& path);

// Adds the nodes of a profile, in ONNX Runtime's form (Chrome's trace events), and its time. Throws thaw::Error for other texts.
void add_profile(std::string_view text, const std::string& where, thaw::Placement& placement);

}  // namespace thaw::run
