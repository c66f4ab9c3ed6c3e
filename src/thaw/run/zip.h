// Reading a zip archive, as far as .npz files need it: stored and deflated members, Zip64.
//
// Hostile archives give thaw::Error: every offset and size is checked against the file, a member that claims to inflate
// to more than deflate can give is refused before memory is taken, two members of one name are refused, checksums are
// checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "thaw/run/byte_source.h"

namespace thaw::run {

// The CRC-32 of bytes that follow others; 0 to begin with. (zlib's own takes a null pointer for a request to start
// anew.)
uint32_t add_to_crc(uint32_t crc, std::span<const std::byte> bytes);

struct ZipMember {
  std::string name;
  uint64_t packed = 0;  // bytes in the archive
  uint64_t size = 0;    // bytes after decompression
  uint64_t offset = 0;  // of its local header
  uint32_t crc = 0;
  uint16_t method = 0;  // 0 stored, 8 deflated
};

class ZipReader {
 public:
  explicit ZipReader(const std::filesystem::path& path);

  const std::vector<ZipMember>& members() const { return members_; }
  // The member's bytes; one source at a time may be open, and not longer than the reader lives. Reading to the end
  // checks the checksum.
  std::unique_ptr<ByteSource> open(const ZipMember& member);

 private:
  void read_directory();
  std::vector<std::byte> bytes_at(uint64_t offset, uint64_t length);

  FileSource file_;
  std::vector<ZipMember> members_;
};

}  // namespace thaw::run
