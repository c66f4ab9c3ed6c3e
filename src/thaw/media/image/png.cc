#include "thaw/media/image/png.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>

#include <png.h>

#include "thaw/core/error.h"
#include "thaw/media/image/exif.h"

namespace thaw::media {
namespace {

constexpr size_t kMostChunk = size_t{8} << 20;  // bytes of a chunk that is kept whole (texts, profiles)
constexpr uint32_t kMostChunks = 1000;          // of those

// libpng's state. What it calls back jumps to where the caller of libpng stands; those callers (read_info, read_png_rows)
// own nothing that a jump would leave behind.
struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const uint8_t> rest;
  int passes = 1;
  char message[160] = {};

  PngReader() = default;
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void png_jump_back(png_structp png, png_const_charp text) {
  PngReader& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader.message, text, sizeof reader.message - 1);
  png_longjmp(png, 1);
}

void read_bytes(png_structp png, png_bytep to, size_t size) {
  PngReader& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader.rest.size()) png_error(png, "the file ends early");
  std::memcpy(to, reader.rest.data(), size);
  reader.rest = reader.rest.subspan(size);
}

bool read_info(PngReader& reader) {
  reader.png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, png_jump_back, [](png_structp, png_const_charp) {});
  if (reader.png == nullptr) return false;
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  reader.info = png_create_info_struct(reader.png);
  png_set_read_fn(reader.png, &reader, read_bytes);
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // require_size() bounds the product, before a row
  png_set_chunk_malloc_max(reader.png, kMostChunk);
  png_set_chunk_cache_max(reader.png, kMostChunks);
  png_read_info(reader.png, reader.info);
  return true;
}

// Once its size is known to be one that is taken: this makes room for a row.
bool begin_rows(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  reader.passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_png_rows(PngReader& reader, Image& image) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  for (int pass = 0; pass < reader.passes; ++pass)
    for (int64_t y = 0; y < image.height; ++y) png_read_row(reader.png, image.row(y), nullptr);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void fail_png(const PngReader& reader, const std::string& name) {
  throw Error(ErrorCode::kInvalidFile, {.what = "the PNG cannot be decoded: " + std::string(reader.message),
                                        .where = name,
                                        .next = "fetch the file again"});
}

int png_orientation(PngReader& reader) {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size, &exif) == 0 || exif == nullptr) return 1;
  return exif_orientation({exif, size});
}

}  // namespace

bool is_png(std::span<const uint8_t> bytes) { return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0; }

Decoded decode_png(std::span<const uint8_t> bytes, const std::string& name) {
  const auto reader = std::make_unique<PngReader>();
  reader->rest = bytes;
  if (!read_info(*reader)) fail_png(*reader, name);
  const int64_t width = png_get_image_width(reader->png, reader->info);
  const int64_t height = png_get_image_height(reader->png, reader->info);
  constexpr int64_t kMostChannels = 4;
  require_size(width, height, kMostChannels, name);
  if (!begin_rows(*reader)) fail_png(*reader, name);
  const int64_t channels = png_get_channels(reader->png, reader->info);
  Decoded decoded{.image = blank(width, height, channels), .orientation = png_orientation(*reader)};
  if (png_get_rowbytes(reader->png, reader->info) != decoded.image.row_bytes()) fail_png(*reader, name);
  if (!read_png_rows(*reader, decoded.image)) fail_png(*reader, name);
  return decoded;
}

}  // namespace thaw::media
