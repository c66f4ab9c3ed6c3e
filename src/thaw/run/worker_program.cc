// Where the worker's program is.
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/run/own_file.h"
#include "thaw/run/worker.h"

namespace thaw::run {
namespace {

constexpr const char* kProgram = "thaw-worker";
constexpr const char* kProgramVariable = "THAW_WORKER";

ForkMutex& program_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

std::filesystem::path g_program;  // guarded by it

}  // namespace

void use_worker_program(std::filesystem::path path) {
  const std::lock_guard lock(program_mutex());
  g_program = std::move(path);
}

std::filesystem::path worker_program() {
  namespace fs = std::filesystem;
  if (const char* chosen = std::getenv(kProgramVariable); chosen != nullptr && *chosen != '\0') return chosen;
  {
    const std::lock_guard lock(program_mutex());
    if (!g_program.empty()) return g_program;
  }
  const fs::path folder = own_file().parent_path();
  std::string tried;
  // Beside the library in the build tree; where both are installed; beside the programs of the tests.
  for (const fs::path& path : {folder / kProgram, folder / "thaw" / kProgram, folder / ".." / kProgram}) {
    if (::access(path.c_str(), X_OK) == 0) return path;
    tried += (tried.empty() ? "" : ", ") + path.string();
  }
  throw Error(ErrorCode::kRuntimeMissing,
              {.what = "the program that runs ONNX Runtime is not there (tried " + tried + ")",
               .expected = std::string(kProgram) + " beside libthaw.so, or in the folder thaw/ there",
               .next = std::string("set ") + kProgramVariable + " to its path"});
}

}  // namespace thaw::run
