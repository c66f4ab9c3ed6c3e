// Landlock: which files a process may open, and whom it may reach, from the system call; no header of the kernel is needed.
// Internal to run/.
#pragma once

#include <filesystem>
#include <vector>

namespace thaw::run {

// The version of Landlock's interface that the kernel has; 0: none, or it is not among the security modules in use.
int landlock_version();

// Opened for good: files, or folders with all below them.
struct OpenPaths {
  std::vector<std::filesystem::path> read;
  std::vector<std::filesystem::path> listed;  // folders of which, and below which, the names are read and no file
  std::vector<std::filesystem::path> read_and_write;
  std::vector<std::filesystem::path> made_in;  // folders in which files are made, changed and taken away too
};

// From now on this thread, and each that it starts, may open nothing else, whatever the kernel's version knows to deny: no
// file is run, none is made or taken away elsewhere, no TCP port is bound or connected to, no signal and no abstract socket leaves the process.
// Paths that are not there are passed over. False, with errno, where the kernel refuses.
bool restrict_to(const OpenPaths& paths);

}  // namespace thaw::run
