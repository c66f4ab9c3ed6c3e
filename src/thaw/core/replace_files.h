// Files of one result that take their places as one.
//
// Its data has names that no file has, and comes first; the entries follow, the files by which it is found. One entry takes one
// rename. Several are made ready in a folder of their own, and the two folders change their names in one step, where the one
// that is there holds little else: then the old files are there, or the new ones. Else the old entries are set aside before the
// first new one comes: meanwhile some are missing, and none of the new ones is beside one of the old.
//
// What does not come about is undone: at once, or, where the process was killed, by the next that writes there.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "thaw/core/atomic_file.h"

namespace thaw {

// Whether a file of data may be needed by what lies beside it.
using InUse = std::function<bool(const std::filesystem::path& data)>;

struct Replacement {
  std::vector<AtomicFile*> data, entries;  // of one folder
  // Data of the result that is there, which goes with it; asked for while no other call writes there.
  std::function<std::vector<std::filesystem::path>()> obsolete;
  InUse in_use;
  // Folders beside the files that the call keeps for them.
  std::vector<std::filesystem::path> scratch;
};

// Throws thaw::Error where a file that the call reads has changed, and for all that AtomicFile throws for.
void replace_files(const Replacement& with);

// Takes away what killed processes left in a folder, and puts back what they had set aside; data only where `in_use` can tell
// that it may go. What cannot be taken away stays, and harms nobody.
void clear_leftovers(const std::filesystem::path& folder, const InUse& in_use = {});

}  // namespace thaw
