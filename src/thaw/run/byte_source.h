// Bytes read one after the other: a file, or a member of a zip archive as it is decompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace thaw::run {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` from the front and returns how much; less than asked for only at the end. Throws thaw::Error where the
  // bytes cannot be had.
  virtual size_t read(std::span<std::byte> out) = 0;
  // Bytes that are left to read; exact, so that a reader can refuse a size before it makes room for it.
  virtual uint64_t left() const = 0;
  // The name for messages: "refs.npz, member 'logits.npy'".
  virtual const std::string& name() const = 0;
};

// A regular file, opened for reading. `seek` counts from its first byte.
class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path);
  size_t read(std::span<std::byte> out) override;
  uint64_t left() const override { return size_ - at_; }
  const std::string& name() const override { return name_; }

  uint64_t size() const { return size_; }
  void seek(uint64_t offset);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string name_;
  uint64_t size_ = 0, at_ = 0;
};

// All of `out`, or thaw::Error saying that the source ended.
void read_exactly(ByteSource& source, std::span<std::byte> out);

}  // namespace thaw::run
