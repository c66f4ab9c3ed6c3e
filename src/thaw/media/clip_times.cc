#include "thaw/media/clip_times.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::media {
namespace {

// As the processor names them where a tokenizer has no names of its own.
constexpr std::string_view kClip = "<|video_pad|>", kBegin = "<|vision_start|>", kEnd = "<|vision_end|>";

// An odd last frame is there twice.
std::string times_of(int64_t frames, double rate, int64_t together) {
  std::string text;
  for (int64_t first = 0; first < frames; first += together) {
    const int64_t last = std::min(first + together, frames) - 1;
    const double time = (static_cast<double>(first) / rate + static_cast<double>(last) / rate) / 2;
    text += fmt::format("<{:.1f} seconds>{}{}{}", time, kBegin, kClip, kEnd);
  }
  return text;
}

}  // namespace

bool has_times(const Preset& preset) { return preset.family == Family::kQwen3Vl; }

int64_t frame_groups(int64_t frames, const Preset& preset) {
  const int64_t together = preset.clips.temporal_patch;
  return (frames + together - 1) / together;
}

std::string with_times(const std::string& text, const Preset& preset, const InputsOptions& options) {
  if (options.clips.empty() || !has_times(preset)) return text;
  if (!options.frame_rate)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "in the prompt each of a clip's frames stands behind its time, and that is not known",
                 .where = "--frames",
                 .expected = "--fps, the frames a second of the images given"});
  std::string timed;
  size_t at = 0, found = 0;
  for (size_t next; (next = text.find(kClip, at)) != std::string::npos; at = next + kClip.size(), ++found) {
    timed.append(text, at, next - at);
    if (found < options.clips.size())
      timed +=
          times_of(static_cast<int64_t>(options.clips[found].size()), *options.frame_rate, preset.clips.temporal_patch);
  }
  if (found != options.clips.size())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("it has {} placeholder{} ({}) for {} clip{}", found, found == 1 ? "" : "s", kClip,
                                     options.clips.size(), options.clips.size() == 1 ? "" : "s"),
                 .where = "the prompt",
                 .expected = "one for each, as the checkpoint's chat template writes it"});
  return timed.append(text, at);
}

}  // namespace thaw::media
