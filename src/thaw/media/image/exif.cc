#include "thaw/media/image/exif.h"

#include <cstddef>

namespace thaw::media {
namespace {

class TiffBytes {
 public:
  explicit TiffBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {
    is_little_ = bytes.size() > 1 && bytes[0] == 'I' && bytes[1] == 'I';
    is_big_ = bytes.size() > 1 && bytes[0] == 'M' && bytes[1] == 'M';
  }

  bool is_valid() const { return is_little_ || is_big_; }
  bool holds(uint64_t offset, uint64_t size) const { return offset <= bytes_.size() && size <= bytes_.size() - offset; }
  uint32_t number(uint64_t offset, int size) const {
    uint32_t value = 0;
    for (int i = 0; i < size; ++i)
      value = value << 8 | bytes_[offset + static_cast<size_t>(is_little_ ? size - 1 - i : i)];
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool is_little_ = false, is_big_ = false;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> tiff) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  const TiffBytes bytes(tiff);
  if (!bytes.is_valid() || !bytes.holds(0, 8) || bytes.number(2, 2) != 42) return 1;
  const uint64_t directory = bytes.number(4, 4);
  if (!bytes.holds(directory, 2)) return 1;
  const uint32_t entries = bytes.number(directory, 2);
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + 12 * i;
    if (!bytes.holds(entry, 12)) return 1;
    if (bytes.number(entry, 2) != kOrientation || bytes.number(entry + 2, 2) != kShort) continue;
    const uint32_t value = bytes.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace thaw::media
