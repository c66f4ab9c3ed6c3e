// The data files beside a model: opened safely, checked on the open file, mapped once each.
//
// A location is a path relative to the model's folder. It is refused when it is absolute, has a ".." in it, or passes
// through a symbolic link, and when the file is not a regular one or has a second (hard) link: a model must not reach
// files outside its folder. Each file is opened component by component below the folder and examined through the
// descriptor, so that nothing can be exchanged in between. A file that changed between two openings is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thaw/core/mapped_file.h"
#include "thaw/ir/data/tensor.h"

namespace thaw::ir {

// Throws thaw::Error unless the location is a relative path that stays below its folder by its text alone.
void check_location_text(std::string_view location, const std::string& where);

// Opens a file below a folder for reading: regular, one link, no symbolic link on the way. An invalid descriptor when
// there is no such file; throws thaw::Error for what is refused.
UniqueFd open_below(const std::filesystem::path& folder, std::string_view location, const std::string& where);

class ExternalFolder {
 public:
  // `folder` is the model's; empty for a model that lies nowhere, whose external data cannot be read.
  explicit ExternalFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ExternalFolder(const ExternalFolder&) = delete;
  ExternalFolder& operator=(const ExternalFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }

  // Checks a range against the file without mapping it. A missing file passes: only reading it fails.
  void check(const ExternalLocation& location, uint64_t size, const std::string& where);

  // Throws when the file is no longer the one that was there when the model was loaded.
  void require_unchanged(const ExternalLocation& location, const std::string& where);

  // The file, mapped on first use; throws when it is missing.
  std::shared_ptr<const MappedFile> file(const ExternalLocation& location, const std::string& where);

  // `size` bytes of it from the offset on.
  std::span<const std::byte> view(const ExternalLocation& location, uint64_t size, const std::string& where,
                                  std::shared_ptr<const void>& owner);

 private:
  // What a file was when it was first seen.
  struct Seen {
    bool missing = false;
    uint64_t device = 0, inode = 0, size = 0;
    int64_t modified = 0;  // nanoseconds
    std::shared_ptr<const MappedFile> mapped;
  };
  UniqueFd reopen(const Seen& seen, const std::string& location, const std::string& where);
  Seen& look_at(const std::string& location, const std::string& where);

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::unordered_map<std::string, Seen> seen_;
};

}  // namespace thaw::ir
