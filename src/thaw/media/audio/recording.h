// Recordings from files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace thaw::media {

// One channel, -1 to 1.
struct Recording {
  int64_t rate = 0;  // samples a second
  std::vector<float> samples;
};

// A WAV or FLAC file, by libsndfile, its channels averaged. libsndfile is opened when it is first needed (run/packaged_library.h).
// Throws thaw::Error: kRuntimeMissing where libsndfile is not there, kUnsupported for other formats, kInvalidFile for a
// file that is damaged, empty or holds a NaN or an infinity, kOutOfBudget for more than two hours.
Recording read_recording(const std::filesystem::path& path);

// The same of a file in memory; `name` is for messages.
Recording decode_recording(std::span<const std::byte> bytes, const std::string& name);

// At another rate, by libsoxr's HQ recipe, as librosa does by default: ceil(samples * rate / recording.rate) of them.
// Throws thaw::Error (kRuntimeMissing, kRuntimeFailed).
Recording resampled(Recording recording, int64_t rate);

}  // namespace thaw::media
