#include "thaw/media/image/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include <jpeglib.h>
// After jpeglib.h, whose types it uses.
#include <jerror.h>

#include "thaw/core/error.h"
#include "thaw/media/image/exif.h"

namespace thaw::media {
namespace {

constexpr std::string_view kExifMark("Exif\0\0", 6);
// A progressive file may repeat scans at will, each of which costs the whole picture. Encoders write ten or so.
constexpr int kMostScans = 100;
constexpr int64_t kMostPixelsOfScans = 16 * kMostPixels;

// libjpeg's state. What it calls back jumps to where the caller of libjpeg stands; those callers (read_header, read_rows)
// own nothing that a jump would leave behind.
struct JpegReader {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
  bool ends_early = false, has_too_many_scans = false;

  JpegReader() {
    std::memset(&info, 0, sizeof info);
    message[0] = '\0';
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }
};

JpegReader& reader_of(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

void jump_back(j_common_ptr info) {
  JpegReader& reader = reader_of(info);
  (*info->err->format_message)(info, reader.message);
  std::longjmp(reader.back, 1);
}

// libjpeg goes on after a warning and makes up what is missing; a file that has lost its end is no picture to measure on.
void note_warning(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) reader_of(info).ends_early = true;
}

void count_scans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  const auto& picture = *reinterpret_cast<j_decompress_ptr>(info);
  const int64_t scans = picture.input_scan_number;
  const int64_t pixels = scans * picture.image_width * picture.image_height;
  if (scans <= kMostScans && pixels <= kMostPixelsOfScans) return;
  reader_of(info).has_too_many_scans = true;
  std::longjmp(reader_of(info).back, 1);
}

bool read_header(JpegReader& reader, const uint8_t* bytes, size_t size) {
  if (setjmp(reader.back) != 0) return false;
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = jump_back;
  reader.errors.emit_message = note_warning;
  reader.errors.output_message = [](j_common_ptr) {};
  reader.info.client_data = &reader;
  jpeg_create_decompress(&reader.info);
  reader.progress.progress_monitor = count_scans;
  reader.info.progress = &reader.progress;
  jpeg_mem_src(&reader.info, bytes, static_cast<unsigned long>(size));
  jpeg_save_markers(&reader.info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&reader.info, TRUE);
  return true;
}

bool read_rows(JpegReader& reader, uint8_t* samples, size_t row_bytes) {
  if (setjmp(reader.back) != 0) return false;
  jpeg_start_decompress(&reader.info);
  while (reader.info.output_scanline < reader.info.output_height) {
    JSAMPROW row = samples + reader.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

[[noreturn]] void fail(const JpegReader& reader, const std::string& name) {
  if (reader.has_too_many_scans)
    throw Error(ErrorCode::kOutOfBudget, {.what = "the JPEG has more scans than a picture of its size may have",
                                          .where = name,
                                          .expected = "100 at most",
                                          .next = "save it anew"});
  throw Error(ErrorCode::kInvalidFile, {.what = "the JPEG cannot be decoded: " + std::string(reader.message),
                                        .where = name,
                                        .next = "fetch the file again"});
}

int orientation_of(const JpegReader& reader) {
  for (jpeg_saved_marker_ptr marker = reader.info.marker_list; marker != nullptr; marker = marker->next) {
    const std::span<const uint8_t> data(marker->data, marker->data_length);
    if (data.size() <= kExifMark.size() || std::memcmp(data.data(), kExifMark.data(), kExifMark.size()) != 0) continue;
    return exif_orientation(data.subspan(kExifMark.size()));
  }
  return 1;
}

// Pillow's MULDIV255: a * b / 255, rounded.
int part(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

Image rgb_of_cmyk(const Image& inverted) {
  Image rgb = blank(inverted.width, inverted.height, 3);
  const uint8_t* from = inverted.samples.data();
  uint8_t* to = rgb.samples.data();
  for (int64_t i = 0; i < rgb.width * rgb.height; ++i, from += 4, to += 3) {
    const int key = from[3];  // 255 - K
    for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(std::clamp(key - part(255 - from[c], key), 0, 255));
  }
  return rgb;
}

}  // namespace

bool is_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

Decoded decode_jpeg(std::span<const uint8_t> bytes, const std::string& name) {
  const auto reader = std::make_unique<JpegReader>();
  jpeg_decompress_struct& info = reader->info;
  if (!read_header(*reader, bytes.data(), bytes.size())) fail(*reader, name);
  if (info.data_precision != 8)
    throw Error(
        ErrorCode::kUnsupported,
        {.what = "the JPEG has more than 8 bits a sample", .where = name, .next = "save it as an 8-bit JPEG or a PNG"});
  const bool is_cmyk = info.num_components == 4;
  info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
  const int64_t channels = info.num_components == 1 ? 1 : is_cmyk ? 4 : 3;
  require_size(info.image_width, info.image_height, channels, name);
  Decoded decoded{.image = blank(info.image_width, info.image_height, channels),
                  .orientation = orientation_of(*reader)};
  if (!read_rows(*reader, decoded.image.samples.data(), decoded.image.row_bytes())) fail(*reader, name);
  if (reader->ends_early)
    throw Error(ErrorCode::kInvalidFile,
                {.what = "the JPEG ends before its picture does", .where = name, .next = "fetch the file again"});
  if (is_cmyk) decoded.image = rgb_of_cmyk(decoded.image);
  return decoded;
}

}  // namespace thaw::media
