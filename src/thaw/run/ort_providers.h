// Execution providers given to a session of ONNX Runtime, in this process. Internal to run/: run/ort_session.h uses it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "thaw/run/providers.h"

namespace thaw::run {

// Adds them in their order, of settled options, and says what each is. Throws thaw::Error (kRuntimeMissing) for what the ONNX Runtime that
// is loaded does not have, and Ort::Exception for what it refuses.
std::vector<UsedProvider> append_providers(std::span<const Provider> providers, Ort::Env& env,
                                           Ort::SessionOptions& options);

// For a process that will not be able to list folders: libraries of these providers stay those of now.
void settle_provider_libraries(std::span<const std::string> words);

}  // namespace thaw::run
