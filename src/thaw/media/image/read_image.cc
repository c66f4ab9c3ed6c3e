#include "thaw/media/image/read_image.h"

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/media/image/jpeg.h"
#include "thaw/media/image/png.h"

namespace thaw::media {
namespace {

Decoded decode(std::span<const uint8_t> bytes, const std::string& name) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name);
  if (is_png(bytes)) return decode_png(bytes, name);
  throw Error(ErrorCode::kUnsupported, {.what = bytes.empty() ? "the file is empty" : "the file is no JPEG and no PNG",
                                        .where = name,
                                        .expected = "a JPEG or PNG image",
                                        .next = "save the picture as one of them"});
}

}  // namespace

Image decode_image(std::span<const uint8_t> bytes, const std::string& name, bool upright) {
  Decoded decoded = decode(bytes, name);
  Image rgb = to_rgb(std::move(decoded.image));
  return upright ? rotated_upright(std::move(rgb), decoded.orientation) : rgb;
}

Image read_image(const std::filesystem::path& path, bool upright) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, path.string(), upright);
}

}  // namespace thaw::media
