#include "thaw/media/audio/wav_length.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace thaw::media {
namespace {

constexpr size_t kMark = 4, kFileHeader = 12, kChunkHeader = 8, kSizes64 = 16;
constexpr uint64_t kUnknown = 0x7FFFF000, kUnknown64 = std::numeric_limits<uint64_t>::max();

// Chunks of a RIFF file: a mark of four letters, a size, so many bytes, and one more where these are odd.
class Chunks {
 public:
  explicit Chunks(std::span<const std::byte> bytes) : bytes_(bytes), is_big_(starts(0, "RIFX")) {}

  bool starts(size_t at, std::string_view mark) const {
    return at <= bytes_.size() && bytes_.size() - at >= kMark &&
           std::ranges::equal(bytes_.subspan(at, kMark), mark,
                              [](std::byte byte, char letter) { return static_cast<char>(byte) == letter; });
  }
  uint64_t number(size_t at, size_t width) const {
    uint64_t number = 0;
    for (size_t i = 0; i < width; ++i)
      number |= static_cast<uint64_t>(bytes_[at + i]) << (8 * (is_big_ ? width - 1 - i : i));
    return number;
  }
  // Where the chunk's own bytes begin.
  std::optional<size_t> find(std::string_view mark) const {
    for (uint64_t at = kFileHeader; at + kChunkHeader <= bytes_.size();) {
      const auto body = static_cast<size_t>(at) + kChunkHeader;
      if (starts(static_cast<size_t>(at), mark)) return body;
      const uint64_t size = number(static_cast<size_t>(at) + kMark, sizeof(uint32_t));
      at = body + size + size % 2;
    }
    return std::nullopt;
  }
  uint64_t size_of(size_t body) const { return number(body - sizeof(uint32_t), sizeof(uint32_t)); }
  size_t left(size_t body) const { return bytes_.size() - body; }

 private:
  std::span<const std::byte> bytes_;
  bool is_big_;
};

}  // namespace

std::optional<WavLength> wav_length(std::span<const std::byte> bytes) {
  const Chunks chunks(bytes);
  const std::optional<size_t> samples = chunks.find("data");
  if (!samples) return std::nullopt;
  uint64_t said = chunks.size_of(*samples), unknown = kUnknown;
  // Past 4 GiB a chunk before all others says it: the file's size, then that of its samples.
  if (const auto sizes = chunks.find("ds64"); chunks.starts(0, "RF64") && sizes && chunks.left(*sizes) >= kSizes64) {
    said = chunks.number(*sizes + sizeof(uint64_t), sizeof(uint64_t));
    unknown = kUnknown64;
  }
  if (said == 0 || said >= unknown) return std::nullopt;
  return WavLength{.said = said, .present = std::min<uint64_t>(said, chunks.left(*samples))};
}

}  // namespace thaw::media
