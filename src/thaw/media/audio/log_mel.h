// Log-mel features of a recording, as Whisper's feature extractor defines them.
//
// Power of a short-time Fourier transform (a periodic Hann window of `fft` samples every `hop`, the signal mirrored by
// fft / 2 at both ends), through triangular filters that are spaced by Slaney's mel scale from 0 to 8000 Hz and have unit
// area, log10 with a floor of 1e-10 and of the loudest minus 8, then (x + 4) / 4. In double precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/media/audio/audio_settings.h"

namespace thaw::media {

// [mels, samples / hop], row-major. The signal must be longer than fft / 2.
std::vector<float> log_mel(std::span<const float> samples, const AudioSettings& settings);

}  // namespace thaw::media
