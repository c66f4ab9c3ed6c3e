#include "thaw/media/preset.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/model/config.h"

namespace thaw::media {
namespace {

using model::Config;
namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, Family>, 7> kFamilies = {{{"qwen2_vl", Family::kQwen2Vl},
                                                                           {"qwen2_5_vl", Family::kQwen25Vl},
                                                                           {"qwen3_vl", Family::kQwen3Vl},
                                                                           {"phi4_mm", Family::kPhi4},
                                                                           {"qwen3_asr", Family::kQwen3Asr},
                                                                           // model_type in config.json
                                                                           {"phi4mm", Family::kPhi4},
                                                                           {"phi4_multimodal", Family::kPhi4}}};
constexpr size_t kShownFamilies = 5;
constexpr std::array<double, 3> kClipMean = {0.48145466, 0.4578275, 0.40821073},
                                kClipStd = {0.26862954, 0.26130258, 0.27577711};
constexpr std::array<double, 3> kHalf = {0.5, 0.5, 0.5};

std::optional<Family> family_of(std::string_view name) {
  for (const auto& [known, family] : kFamilies)
    if (known == name) return family;
  return std::nullopt;
}

std::vector<std::string_view> shown_families() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kShownFamilies; ++i) names.push_back(kFamilies[i].first);
  return names;
}

// What transformers' processors have where nothing is said; Qwen3-VL's are those of its checkpoints, since it has no
// processor of its own for images.
Preset defaults_of(Family family) {
  Preset preset;
  preset.family = family;
  ImageSettings& images = preset.images;
  ImageSettings& clips = preset.clips;
  images.mean = family == Family::kQwen3Vl || family == Family::kPhi4 ? kHalf : kClipMean;
  images.std = family == Family::kQwen3Vl || family == Family::kPhi4 ? kHalf : kClipStd;
  if (family == Family::kQwen3Vl) {
    images.patch = 16;
    images.min_pixels = 65'536;
    images.max_pixels = 16'777'216;
    clips = images;
    clips.min_pixels = int64_t{128} * 32 * 32;
    clips.max_pixels = int64_t{768} * 32 * 32;
  } else {
    images.min_pixels = int64_t{56} * 56;
    images.max_pixels = int64_t{28} * 28 * 1280;
    clips = images;
    clips.min_pixels = int64_t{128} * 28 * 28;
    clips.max_pixels = int64_t{768} * 28 * 28;
  }
  return preset;
}

Filter filter_of(const Config& config, Filter otherwise) {
  constexpr std::array kPillow = {Filter::kNearest, Filter::kLanczos, Filter::kBilinear, Filter::kBicubic,
                                  Filter::kBox};
  if (!config.has("resample")) return otherwise;
  const int64_t number = config.integer({"resample"});
  if (number < 0 || number >= static_cast<int64_t>(kPillow.size()))
    config.fail("resample", fmt::format("is {}", number), "0 to 4, as Pillow numbers its filters");
  return kPillow[static_cast<size_t>(number)];
}

void read_channels(const Config& config, std::string_view key, std::array<double, 3>& channels) {
  if (!config.has(key)) return;
  const std::vector<double> numbers = config.numbers({key});
  if (numbers.size() != channels.size())
    config.fail(key, fmt::format("has {} numbers", numbers.size()), "one for each of red, green and blue");
  std::ranges::copy(numbers, channels.begin());
}

void read_images(const Config& config, ImageSettings& images) {
  images.resizes = config.boolean_or({"do_resize"}, images.resizes);
  images.rescales = config.boolean_or({"do_rescale"}, images.rescales);
  images.normalizes = config.boolean_or({"do_normalize"}, images.normalizes);
  images.rescale_factor = config.number_or({"rescale_factor"}, images.rescale_factor);
  read_channels(config, "image_mean", images.mean);
  read_channels(config, "image_std", images.std);
  for (const double deviation : images.std)
    if (!(deviation > 0)) config.fail("image_std", fmt::format("has {}", deviation), "numbers above 0");
  images.filter = filter_of(config, images.filter);
  images.patch = config.size_or({"patch_size"}, images.patch);
  images.merge = config.size_or({"merge_size"}, images.merge);
  images.temporal_patch = config.size_or({"temporal_patch_size"}, images.temporal_patch);
  images.most_crops = config.size_or({"dynamic_hd"}, images.most_crops);
  if (const std::optional<Config> size = config.find_object("size")) {
    images.min_pixels = size->size_or({"shortest_edge", "min_pixels"}, images.min_pixels);
    images.max_pixels = size->size_or({"longest_edge", "max_pixels"}, images.max_pixels);
    images.crop = size->size_or({"height"}, images.crop);
    if (size->size_or({"width"}, images.crop) != images.crop)
      size->fail("width", "differs from the height", "crops that are square");
  }
  images.min_pixels = config.size_or({"min_pixels"}, images.min_pixels);
  images.max_pixels = config.size_or({"max_pixels"}, images.max_pixels);
}

void read_audio(const Config& config, AudioSettings& audio) {
  audio.rate = config.size_or({"sampling_rate"}, audio.rate);
  audio.mels = config.size_or({"feature_size"}, audio.mels);
  audio.fft = config.size_or({"n_fft"}, audio.fft);
  audio.hop = config.size_or({"hop_length"}, audio.hop);
  audio.least_samples = config.integer_or({"min_length"}, audio.least_samples);
  audio.multiple = 2 * config.integer_or({"n_window"}, audio.multiple / 2);
  constexpr int64_t kMostFft = 1 << 16, kMostRate = 1 << 20, kMostMels = 1 << 12;
  if (audio.fft % 2 != 0 || audio.fft > kMostFft)
    config.fail("n_fft", fmt::format("is {}", audio.fft), fmt::format("an even number, {} at most", kMostFft));
  if (audio.rate > kMostRate || audio.mels > kMostMels || audio.least_samples > kMostRate || audio.multiple < 0 ||
      audio.multiple > kMostRate)
    config.fail("sampling_rate", "or another size is absurd", "the numbers that the checkpoint came with");
}

// What the tower is built for counts where the processor's files do not say it, or are not there.
void read_tower(const Config& config, Preset& preset) {
  const Config inner = config.object_or_self("thinker_config");
  constexpr int64_t kPhi4Image = 200'010;
  preset.image_token = inner.integer_or({"image_token_id"}, preset.family == Family::kPhi4 ? kPhi4Image : -1);
  preset.clip_token = inner.integer_or({"video_token_id"}, -1);
  preset.audio_token = inner.integer_or({"audio_token_id"}, -1);
  if (const std::optional<Config> audio = inner.find_object("audio_config"))
    preset.audio.mels = audio->size_or({"num_mel_bins"}, preset.audio.mels);
  const std::optional<Config> vision = inner.find_object("vision_config");
  if (vision && preset.family == Family::kPhi4)
    preset.image_token = vision->integer_or({"image_token_id"}, preset.image_token);
  if (!vision || !preset.takes_clips()) return;
  if (preset.family == Family::kQwen25Vl) {
    constexpr double kStepsPerSecond = 4;  // as transformers where the config is silent
    preset.steps_per_second = vision->number_or({"tokens_per_second"}, kStepsPerSecond);
  }
  for (ImageSettings* settings : {&preset.images, &preset.clips}) {
    settings->patch = vision->size_or({"patch_size", "spatial_patch_size"}, settings->patch);
    settings->merge = vision->size_or({"spatial_merge_size"}, settings->merge);
    settings->temporal_patch = vision->size_or({"temporal_patch_size"}, settings->temporal_patch);
  }
}

// Beyond these a product of sizes might be no number any more.
void require_sane(const ImageSettings& settings, const fs::path& folder) {
  constexpr int64_t kMostSide = 4096, kMostInToken = 64, kMostCrops = 256;
  const bool is_sane = settings.patch <= kMostSide && settings.crop <= kMostSide && settings.merge <= kMostInToken &&
                       settings.temporal_patch <= kMostInToken && settings.most_crops <= kMostCrops;
  if (is_sane) return;
  throw Error(ErrorCode::kInvalidFile,
              {.what = "patch_size, merge_size, temporal_patch_size, size or dynamic_hd is not of a tower",
               .where = folder.string(),
               .expected = "patches of at most 4096 pixels, 64 x 64 a token and 64 frames; 256 crops",
               .next = "fetch preprocessor_config.json again"});
}

std::optional<Config> open_if_there(const fs::path& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  return Config::open(path);
}

Preset read_checkpoint(const fs::path& folder) {
  const Config config = Config::open(folder / "config.json");
  const std::string type = config.text({"model_type"});
  const std::optional<Family> family = family_of(type);
  if (!family)
    throw Error(ErrorCode::kUnsupported,
                {.what = fmt::format("its model_type '{}' is of no family that is known", type),
                 .where = config.where(),
                 .expected = family_names(),
                 .next = "describe its images with --model, --resize, --mean and --std"});
  Preset preset = defaults_of(*family);
  read_tower(config, preset);
  const std::optional<Config> nested = open_if_there(folder / "processor_config.json");
  const std::optional<Config> flat = open_if_there(folder / "preprocessor_config.json");
  const auto part = [&](std::string_view name) { return nested ? nested->find_object(name) : std::nullopt; };
  if (preset.takes_audio()) {
    const std::optional<Config> audio = part("feature_extractor");
    if (audio || flat) read_audio(audio ? *audio : *flat, preset.audio);
    return preset;
  }
  const std::optional<Config> images = part("image_processor");
  if (images || flat) read_images(images ? *images : *flat, preset.images);
  std::optional<Config> clips = part("video_processor");
  if (!clips) clips = open_if_there(folder / "video_preprocessor_config.json");
  if (!clips) clips = flat;
  if (clips) read_images(*clips, preset.clips);
  require_sane(preset.images, folder);
  require_sane(preset.clips, folder);
  return preset;
}

}  // namespace

std::string family_names() { return fmt::format("{}", fmt::join(shown_families(), ", ")); }

Preset preset_for(const std::string& checkpoint_or_family) {
  std::error_code failed;
  if (fs::is_directory(checkpoint_or_family, failed)) return read_checkpoint(checkpoint_or_family);
  if (const std::optional<Family> family = family_of(checkpoint_or_family)) return defaults_of(*family);
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("'{}' is no folder of a checkpoint and no family{}", checkpoint_or_family,
                                   did_you_mean(checkpoint_or_family, shown_families())),
               .where = "--for",
               .expected = "a folder with config.json, or one of " + family_names()});
}

}  // namespace thaw::media
