// The folders that a process is confined to, where who started it named some, as `thaw mcp` does for each call.
//
// Nothing is confined by itself. Once it is, files are judged where they are opened, by where they really are: MappedFile and
// run/byte_source read through here, AtomicFile and make_folder write. So what a model, a folder or a report names is confined too.
// What lies in a scratch folder is Thaw's own.
#pragma once

#include <filesystem>
#include <vector>

namespace thaw {

struct Confinement {
  std::vector<std::filesystem::path> folders;  // with all below them
  bool may_write = false;                      // there; else nothing is written
};

// From now on, for the whole process; before it opens anything. Throws thaw::Error (kCannotRead) for a folder that is not there.
void confine(const Confinement& confinement);
bool is_confined();
// A folder without links and relative parts. Throws as confine() does.
std::filesystem::path real_folder(const std::filesystem::path& folder);

// Throw thaw::Error (kInvalidArgument) for what is outside; where nothing is confined they do nothing.
void require_inside(int fd, const std::filesystem::path& name);         // an open file or folder
void require_inside(const std::filesystem::path& path);                 // what need not be there; links are followed
void require_may_write(int folder, const std::filesystem::path& name);  // into an open folder
void require_may_write(const std::filesystem::path& path);

}  // namespace thaw
