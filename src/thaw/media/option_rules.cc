#include "thaw/media/option_rules.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/media/qwen_images.h"

namespace thaw::media {
namespace {

struct Given {
  const char* option;
  bool is_given;
};

// "--mean, --std": those that are given.
std::string given_of(const std::vector<Given>& all) {
  std::vector<const char*> names;
  for (const Given& one : all)
    if (one.is_given) names.push_back(one.option);
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_clips_for_rate(const InputsOptions& options) {
  if (options.frame_rate && options.clips.empty())
    refuse_option("there is no clip whose frames it counts", "--fps", "--frames with the frames of a clip");
}

}  // namespace

void refuse_option(std::string what, std::string where, std::string expected, std::string next) {
  throw Error(
      ErrorCode::kInvalidArgument,
      {.what = std::move(what), .where = std::move(where), .expected = std::move(expected), .next = std::move(next)});
}

void refuse_image_model_options(const InputsOptions& options) {
  static const ImageModelOptions kNone;
  const ImageModelOptions& image = options.image_model;
  const std::string given = given_of({{"--model", !image.model.empty()},
                                      {"--image-input", !image.input.empty()},
                                      {"--resize", image.fit.has_value()},
                                      {"--place", image.is_centered != kNone.is_centered},
                                      {"--border", image.border != kNone.border},
                                      {"--scale", image.scale.has_value()},
                                      {"--mean", !image.mean.empty()},
                                      {"--std", !image.std.empty()},
                                      {"--layout", image.channels_last.has_value()},
                                      {"--channels", image.bgr != kNone.bgr},
                                      {"--filter", image.bilinear != kNone.bilinear}});
  if (!given.empty())
    refuse_option("for images of any model, and --for names whose settings count", given,
                  "either --for or what describes the images");
}

void require_options_of(const Preset& preset, const InputsOptions& options) {
  const bool is_qwen = preset.takes_clips();
  if (options.size && !is_qwen) refuse_option("sizes are free for Qwen's towers only", "--image-size");
  if ((options.min_pixels || options.max_pixels) && !is_qwen)
    refuse_option("bounds on pixels are for Qwen's towers only", "--min-pixels, --max-pixels");
  if (!options.clips.empty() && !is_qwen)
    refuse_option(preset.takes_audio() ? "the family takes recordings" : "the family takes no clips", "--frames");
  require_clips_for_rate(options);
  if (options.whole_images && (!is_qwen || !options.clips.empty()))
    refuse_option(is_qwen ? "clips are made into patches only" : "whole images are for Qwen's towers only",
                  "--as image");
  if (preset.takes_audio() && (options.resampler || !options.upright))
    refuse_option("the family takes recordings, and this is for images",
                  given_of({{"--resampler", options.resampler.has_value()}, {"--no-upright", !options.upright}}));
  if (options.resampler == Resampler::kOpenCv)
    refuse_option("the family's processors do not resize so", "--resampler opencv", "pillow or torch");
  if (options.min_pixels && *options.min_pixels < 1)
    refuse_option(fmt::format("the least number of pixels is {}", *options.min_pixels), "--min-pixels", "1 or more");
  if (options.max_pixels && *options.max_pixels < options.min_pixels.value_or(1))
    refuse_option(fmt::format("the least number of pixels, {}, is above the most, {}", options.min_pixels.value_or(1),
                              *options.max_pixels),
                  options.min_pixels ? "--min-pixels, --max-pixels" : "--max-pixels",
                  "a most that is not below the least");
  if (!options.size) return;
  if (options.min_pixels || options.max_pixels)
    refuse_option("one size is asked for, which leaves no choice to bounds on pixels",
                  "--image-size, --min-pixels, --max-pixels", "either a size or bounds");
  for (const ImageSettings* settings : {&preset.images, &preset.clips})
    require_multiple(*options.size, *settings, "--image-size");
}

void refuse_preset_options(const InputsOptions& options) {
  if (options.text || !options.tokens.empty())
    refuse_option("a text needs the checkpoint's tokenizer", "--text", "--for with the checkpoint's folder");
  if (options.whole_images) refuse_option("this goes with --for", "--as image");
  if (options.size || options.min_pixels || options.max_pixels || !options.clips.empty())
    refuse_option("these go with --for", given_of({{"--image-size", options.size.has_value()},
                                                   {"--min-pixels", options.min_pixels.has_value()},
                                                   {"--max-pixels", options.max_pixels.has_value()},
                                                   {"--frames", !options.clips.empty()}}));
  require_clips_for_rate(options);
}

void require_options_of(const ImageInput& input, const InputsOptions& options) {
  static const ImageModelOptions kNone;
  const ImageModelOptions& image = options.image_model;
  const bool has_box = image.fit == Fit::kLetterbox;
  if (!has_box && image.border != kNone.border)
    refuse_option("there is no letterbox that has a border", "--border", "--resize letterbox:WxH");
  if (!has_box && image.is_centered != kNone.is_centered)
    refuse_option("there is no letterbox that an image stands in", "--place", "--resize letterbox:WxH");
  if (image.bgr && input.channels == 1)
    refuse_option(fmt::format("input '{}' has one channel, which is gray", input.name), "--channels bgr");
  if (options.resampler == Resampler::kOpenCv && !image.bilinear)
    refuse_option("OpenCV's way is that of INTER_LINEAR alone", "--resampler opencv", "--filter bilinear");
}

ImageSettings bounded(ImageSettings settings, const InputsOptions& options, std::string_view of) {
  if (!options.min_pixels && !options.max_pixels) return settings;
  if (!settings.resizes)
    refuse_option(
        "the checkpoint's settings do not resize images (do_resize), and bounds on pixels have no use",
        given_of({{"--min-pixels", options.min_pixels.has_value()}, {"--max-pixels", options.max_pixels.has_value()}}));
  const int64_t least = settings.min_pixels, most = settings.max_pixels;
  settings.min_pixels = options.min_pixels.value_or(least);
  settings.max_pixels = options.max_pixels.value_or(most);
  if (settings.min_pixels <= settings.max_pixels) return settings;
  if (options.max_pixels)
    refuse_option(fmt::format("{} has {} pixels at least where nothing else is said, and {} at most is asked for", of,
                              least, settings.max_pixels),
                  "--max-pixels", fmt::format("{} or more", least), "or give --min-pixels too");
  refuse_option(fmt::format("{} has {} pixels at most where nothing else is said, and {} at least is asked for", of,
                            most, settings.min_pixels),
                "--min-pixels", fmt::format("{} or less", most), "or give --max-pixels too");
}

}  // namespace thaw::media
