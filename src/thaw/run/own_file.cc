#include "thaw/run/own_file.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace thaw::run {

namespace {

// The loader's own name for it may be relative to a folder that the process has left.
std::filesystem::path mapped_file() {
  const auto address = reinterpret_cast<uintptr_t>(&mapped_file);
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

std::filesystem::path own_file() {
  static const std::filesystem::path file = mapped_file();
  return file;
}

std::filesystem::path own_program() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path() : program;
}

}  // namespace thaw::run
