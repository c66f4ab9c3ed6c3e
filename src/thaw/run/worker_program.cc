// Where the worker's program is.
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/run/worker.h"

namespace thaw::run {
namespace {

constexpr const char* kProgram = "thaw-worker";
constexpr const char* kProgramVariable = "THAW_WORKER";

std::mutex g_program_mutex;
std::filesystem::path g_program;  // guarded by it

// The file that this code is mapped from, a library or a program: the loader's own name for it may be relative to a
// folder that the process has left.
std::filesystem::path own_file() {
  const auto address = reinterpret_cast<uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string skipped, path;
    if (!(fields >> std::hex >> begin >> dash >> end) || address < begin || address >= end) continue;
    fields >> skipped >> skipped >> skipped >> skipped >> std::ws;  // rights, offset, device, inode
    std::getline(fields, path);
    return path;
  }
  return {};
}

}  // namespace

void use_worker_program(std::filesystem::path path) {
  const std::lock_guard lock(g_program_mutex);
  g_program = std::move(path);
}

std::filesystem::path worker_program() {
  namespace fs = std::filesystem;
  if (const char* chosen = std::getenv(kProgramVariable); chosen != nullptr && *chosen != '\0') return chosen;
  {
    const std::lock_guard lock(g_program_mutex);
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
