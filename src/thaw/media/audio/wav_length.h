// How long a WAV file says it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace thaw::media {

// Bytes of samples: those that the header says, and those that stand behind it.
struct WavLength {
  uint64_t said, present;
};

// Of a WAV (RIFF, RIFX or RF64) in memory; nullopt where its header does not say, as of a stream: what writes to a pipe knows no
// length, and says 0 or one past anything (0xFFFFFFFF ffmpeg, 0x7FFFF000 SoX).
std::optional<WavLength> wav_length(std::span<const std::byte> bytes);

}  // namespace thaw::media
