#include "thaw/media/asr_audio.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/media/audio/log_mel.h"
#include "thaw/media/audio/recording.h"
#include "thaw/run/array.h"

namespace thaw::media {
namespace {

// Three convolutions of stride 2, chunk by chunk; a whole chunk of 100 frames is 13 tokens.
int64_t tokens_of(int64_t frames) {
  constexpr int64_t kChunk = 100;
  const auto halved = [](int64_t size) { return size == 0 ? 0 : (size - 1) / 2 + 1; };
  const auto of_chunk = [&](int64_t size) { return halved(halved(halved(size))); };
  return frames / kChunk * of_chunk(kChunk) + of_chunk(frames % kChunk);
}

int64_t padded_to(int64_t size, int64_t multiple) {
  return multiple < 2 ? size : (size + multiple - 1) / multiple * multiple;
}

}  // namespace

PreparedInputs asr_inputs(std::span<const std::filesystem::path> files, const AudioSettings& settings) {
  PreparedInputs result;
  std::vector<std::vector<float>> recordings;
  // Mirroring the ends takes more than half a window.
  const auto least = static_cast<size_t>(std::max({settings.least_samples, settings.fft / 2 + 1, settings.hop}));
  size_t longest = 0;
  for (const std::filesystem::path& path : files) {
    Recording recording = read_recording(path);
    PreparedFile& file = result.files.emplace_back();
    file.name = path.string();
    file.seconds = static_cast<double>(recording.samples.size()) / static_cast<double>(recording.rate);
    std::vector<float>& samples = recordings.emplace_back(resampled(std::move(recording), settings.rate).samples);
    samples.resize(std::max(samples.size(), least));
    longest = std::max(longest, samples.size());
  }
  const int64_t batch = static_cast<int64_t>(recordings.size());
  const int64_t frames = static_cast<int64_t>(longest) / settings.hop;
  const int64_t padded = padded_to(frames, settings.multiple);
  Array features = Array::zeros(DataType::kFloat, {batch, settings.mels, padded});
  std::vector<int64_t> mask(static_cast<size_t>(batch * padded));
  for (size_t i = 0; i < recordings.size(); ++i) {
    std::vector<float>& samples = recordings[i];
    const int64_t own = std::min((static_cast<int64_t>(samples.size()) + settings.hop - 1) / settings.hop, frames);
    std::fill_n(mask.begin() + static_cast<int64_t>(i) * padded, own, 1);
    result.files[i].frames = own;
    result.files[i].tokens = tokens_of(own);
    samples.resize(longest);
    const std::vector<float> rows = log_mel(samples, settings);
    samples = {};
    for (int64_t m = 0; m < settings.mels; ++m) {
      const int64_t row = static_cast<int64_t>(i) * settings.mels + m;
      std::memcpy(features.bytes.data() + static_cast<size_t>(row * padded) * sizeof(float), rows.data() + m * frames,
                  static_cast<size_t>(frames) * sizeof(float));
    }
  }
  result.arrays.emplace("input_features", std::move(features));
  result.arrays.emplace("input_features_mask", Array::from_int64(DataType::kInt64, {batch, padded}, mask));
  return result;
}

}  // namespace thaw::media
