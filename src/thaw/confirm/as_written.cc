#include "thaw/confirm/as_written.h"

#include <string_view>

#include <fmt/format.h>

#include "thaw/confirm/run_check.h"
#include "thaw/core/error.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr uint64_t kQuickBytes = uint64_t{64} << 20;  // of weights
constexpr size_t kQuickNodes = 2000;

// As users load it; threads that wait awake would only be in each other's way here.
SessionOptions defaults() { return {.spinning = false}; }

bool says_no_kernel(const Error& error) {
  return error.parts().what.find("Could not find an implementation for") != std::string_view::npos;
}

bool is_loaded(const ir::Model& model) {
  try {
    const run::Session session(model, defaults());
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool loads_quickly(const ir::Model& model) {
  return weight_bytes(model) <= kQuickBytes && model.graph->num_nodes() <= kQuickNodes;
}

AsWritten try_as_written(const ir::Model& written, const ir::Model& original, const Arrays* fed) {
  AsWritten result;
  result.not_loaded = lacks_memory(written);
  if (!result.not_loaded.empty()) return result;
  bool loaded = false;
  try {
    run::Session session(written, defaults());
    loaded = true;
    if (fed != nullptr) session.run(*fed);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kRuntimeMissing || error.code() == ErrorCode::kOutOfBudget ||
        (!loaded && says_no_kernel(error))) {
      result.not_loaded = error.parts().what;
      result.lacks_kernels = says_no_kernel(error);
    } else if (error.code() != ErrorCode::kRuntimeFailed) {
      throw;
    } else if (loaded) {
      result.failure = fmt::format("it loads as it is written, and does not run: {}", error.what());
    } else if (is_loaded(original)) {
      result.failure = fmt::format("ONNX Runtime does not load it as it is written: {}", error.what());
    } else {
      result.not_loaded = fmt::format("neither it nor the model is loaded: {}", error.parts().what);
    }
  }
  return result;
}

}  // namespace thaw::confirm
