#include "thaw/core/new_folder.h"

#include <system_error>

#include "thaw/core/atomic_file.h"

namespace thaw {

NewFolder::NewFolder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code ignored;
  for (std::filesystem::path at = std::filesystem::absolute(folder, ignored).lexically_normal();
       at.has_relative_path() && !std::filesystem::exists(std::filesystem::symlink_status(at, ignored));
       at = at.parent_path())
    if (at.has_filename()) made_.push_back(at);
  make_folder(folder);
}

NewFolder::~NewFolder() {
  std::error_code not_empty;
  for (const std::filesystem::path& folder : made_)
    if (!std::filesystem::remove(folder, not_empty)) return;
}

}  // namespace thaw
