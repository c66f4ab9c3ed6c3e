#include "format_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace thaw_fuzz {
namespace {

using Random = std::minstd_rand;
using Bytes = std::vector<uint8_t>;

constexpr size_t kMostInflated = size_t{1} << 20;

size_t below(Random& random, size_t end) { return end == 0 ? 0 : random() % end; }

uint32_t crc_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

uint64_t number_at(const Bytes& bytes, size_t at, size_t width, bool big) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= uint64_t{bytes[big ? at + width - 1 - i : at + i]} << (8 * i);
  return value;
}

void put_number(Bytes& bytes, size_t at, size_t width, bool big, uint64_t value) {
  for (size_t i = 0; i < width; ++i) bytes[big ? at + width - 1 - i : at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// A field of 1 to 8 bytes, of either order.
void write_extreme(Bytes& bytes, Random& random) {
  constexpr std::array<uint64_t, 12> kExtremes{0,          1,          0x7F,       0xFF,        0x7FFF,    0xFFFF,
                                               0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, INT64_MAX, UINT64_MAX};
  const size_t width = size_t{1} << below(random, 4);
  if (bytes.size() < width) return;
  // Formats say their sizes in front.
  const size_t locations = below(random, 3) == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 96);
  const size_t at = std::min(below(random, locations), bytes.size() - width);
  uint64_t value = kExtremes[below(random, kExtremes.size())];
  if (below(random, 2) == 0) value = number_at(bytes, at, width, false) + below(random, 5) - 2;
  put_number(bytes, at, width, below(random, 2) == 0, value);
}

void repeat_piece(Bytes& bytes, Random& random, size_t most) {
  if (bytes.empty()) return;
  const size_t begin = below(random, bytes.size());
  const size_t length = 1 + below(random, std::min<size_t>(bytes.size() - begin, 256));
  const Bytes piece(bytes.begin() + static_cast<ptrdiff_t>(begin),
                    bytes.begin() + static_cast<ptrdiff_t>(begin + length));
  Bytes repeated;
  for (size_t times = 1 + below(random, 200); times > 0 && bytes.size() + repeated.size() + length <= most; --times)
    repeated.insert(repeated.end(), piece.begin(), piece.end());
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(begin), repeated.begin(), repeated.end());
}

void change(Bytes& bytes, size_t most) {
  const size_t size = bytes.size();
  bytes.resize(std::max(most, size));
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
}

constexpr std::array<uint8_t, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

void seal_png(Bytes& bytes) {
  for (size_t at = kPng.size(); at + 12 <= bytes.size();) {
    const uint64_t length = number_at(bytes, at, 4, true);
    if (length > bytes.size() - at - 12) return;
    put_number(bytes, at + 8 + length, 4, true, crc_of(std::span(bytes).subspan(at + 4, length + 4)));
    at += 12 + length;
  }
}

// Raw deflate's output, up to a megabyte.
Bytes inflated(std::span<const uint8_t> packed) {
  Bytes out(kMostInflated);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return {};
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  inflateEnd(&stream);
  return out;
}

// By the directory's entries, wherever they are.
void seal_zip(Bytes& bytes) {
  constexpr std::string_view kEntry = "PK\1\2";
  for (auto found = bytes.begin();; ++found) {
    found = std::search(found, bytes.end(), kEntry.begin(), kEntry.end());
    const auto at = static_cast<size_t>(found - bytes.begin());
    if (at + 46 > bytes.size()) return;
    const uint64_t method = number_at(bytes, at + 10, 2, false), packed = number_at(bytes, at + 20, 4, false);
    const uint64_t local = number_at(bytes, at + 42, 4, false);
    if (local + 30 > bytes.size()) continue;
    const uint64_t start = local + 30 + number_at(bytes, local + 26, 2, false) + number_at(bytes, local + 28, 2, false);
    if (start > bytes.size() || packed > bytes.size() - start) continue;
    const auto data = std::span(bytes).subspan(start, packed);
    put_number(bytes, at + 16, 4, false, method == 8 ? crc_of(inflated(data)) : crc_of(data));
  }
}

void seal(Bytes& bytes) {
  if (bytes.size() > kPng.size() && std::equal(kPng.begin(), kPng.end(), bytes.begin()))
    seal_png(bytes);
  else if (bytes.size() > 4 && bytes[0] == 'P' && bytes[1] == 'K')
    seal_zip(bytes);
}

size_t put_back(const Bytes& bytes, uint8_t* data, size_t most) {
  const size_t size = std::min(bytes.size(), most);
  std::copy_n(bytes.begin(), size, data);
  return size;
}

// One of so many kinds of change: the first is what the format is prone to, the second a piece again and again, the rest libFuzzer's.
template <typename Prone>
void mutate(Bytes& bytes, Random& random, size_t most, size_t kinds, const Prone& prone) {
  switch (below(random, kinds)) {
    case 0:
      return prone();
    case 1:
      return repeat_piece(bytes, random, most);
    default:
      return change(bytes, most);
  }
}

// Brackets in brackets, long numbers, names that are none.
void insert_many(Bytes& bytes, Random& random, size_t most) {
  constexpr std::array<std::string_view, 14> kPieces{
      "[",           "{\"a\":",     "[[[[[[[[", "]",     "}",       "1e400", "-0", "18446744073709551616",
      "\"\\ud800\"", "\"\\u0000\"", "[],",      "null,", "\"\":1,", "4e42"};
  const std::string_view piece = kPieces[below(random, kPieces.size())];
  Bytes many;
  for (size_t times = size_t{1} << below(random, 12); times > 0 && bytes.size() + many.size() + piece.size() <= most;
       --times)
    many.insert(many.end(), piece.begin(), piece.end());
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(below(random, bytes.size() + 1)), many.begin(), many.end());
}

}  // namespace

size_t mutate_file(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Random random(seed);
  Bytes bytes(data, data + size);
  mutate(bytes, random, most, 4, [&] { write_extreme(bytes, random); });
  if (below(random, 8) != 0) seal(bytes);
  return put_back(bytes, data, most);
}

size_t mutate_text(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Random random(seed);
  Bytes bytes(data, data + size);
  mutate(bytes, random, most, 3, [&] { insert_many(bytes, random, most); });
  return put_back(bytes, data, most);
}

}  // namespace thaw_fuzz
