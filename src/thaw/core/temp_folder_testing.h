// For tests: a folder that goes away with what is in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace thaw {

class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  // Writes a file in it and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::filesystem::path& path);

}  // namespace thaw
