// A file that appears whole or not at all: written under a temporary name in the same folder, fsynced, then renamed.
//
// A link in the target's place is replaced, never written through. Without `commit` nothing is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace thaw::run {

class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  uint64_t written() const { return written_; }
  void commit();

 private:
  [[noreturn]] void fail(const char* what);

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

}  // namespace thaw::run
