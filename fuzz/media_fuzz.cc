// Any bytes read as a picture and as a recording, and made ready for a tower: arrays of the sizes that are said, or one
// thaw::Error; in twice the memory that there may be, at most.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "format_mutator.h"
#include "held_memory.h"

#include "thaw/core/error.h"
#include "thaw/limits.h"
#include "thaw/media/audio/log_mel.h"
#include "thaw/media/audio/recording.h"
#include "thaw/media/image/exif.h"
#include "thaw/media/image/read_image.h"
#include "thaw/media/image/resample.h"

namespace {

using namespace thaw;

constexpr int64_t kBudget = 32 << 20;

void read_as_image(std::span<const uint8_t> bytes) {
  try {
    const media::Image image = media::decode_image(bytes, "fuzz");
    if (image.samples.size() != static_cast<size_t>(image.width * image.height * 3)) std::abort();
    const media::Image small = media::resize(image, 28, 56, media::Filter::kBicubic);
    if (small.samples.size() != 28U * 56 * 3) std::abort();
  } catch (const Error&) {
  }
}

void read_as_recording(std::span<const uint8_t> bytes) {
  try {
    media::Recording recording = media::decode_recording(std::as_bytes(bytes), "fuzz");
    if (recording.samples.size() > bytes.size() * 4096) std::abort();
    recording.samples.resize(std::min<size_t>(recording.samples.size(), 20'000));
    recording = media::resampled(std::move(recording), 16'000);
    recording.samples.resize(8000);
    if (media::log_mel(recording.samples, {}).size() != 128U * 50) std::abort();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_limits({.max_memory = kBudget});
  const thaw_fuzz::HeldMemory held(2 * kBudget);
  const std::span<const uint8_t> bytes(data, size);
  const int orientation = media::exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) std::abort();
  read_as_image(bytes);
  read_as_recording(bytes);
  return 0;
}

THAW_MUTATES_FILES
