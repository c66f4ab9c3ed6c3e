#include "thaw/cli/feed_options.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/options.h"
#include "thaw/core/error.h"
#include "thaw/media/file_samples.h"

namespace thaw::cli {
namespace {

constexpr std::array kNames = {"--for",   "--size",   "--min-pixels", "--max-pixels", "--resampler", "--no-upright",
                               "--input", "--resize", "--place",      "--border",     "--scale",     "--mean",
                               "--std",   "--layout", "--channels",   "--filter"};

[[noreturn]] void refuse_value(const std::string& option, const std::string& text, const std::string& wanted) {
  throw CLI::ValidationError(fmt::format("{} takes {}, not '{}'", option, wanted, text),
                             CLI::ExitCodes::ValidationError);
}

std::optional<int64_t> whole(std::string_view text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int64_t kMost = 1 << 20;
  if (failed != std::errc() || end != text.data() + text.size() || number < 1 || number > kMost) return std::nullopt;
  return number;
}

// "672" or "640x480".
std::optional<ImageSize> size_of(std::string_view text) {
  const size_t cross = text.find('x');
  const std::optional<int64_t> width = whole(text.substr(0, cross));
  const std::optional<int64_t> height = cross == std::string_view::npos ? width : whole(text.substr(cross + 1));
  if (!width || !height) return std::nullopt;
  return ImageSize{.width = *width, .height = *height};
}

void read_resize(const std::string& text, ImageModelOptions& options) {
  constexpr std::string_view kBox = "letterbox:", kHeight = "height:";
  std::optional<ImageSize> size;
  if (text == "keep") {
    options.fit = Fit::kKeep;
    return;
  }
  if (text.starts_with(kBox)) {
    options.fit = Fit::kLetterbox;
    size = size_of(std::string_view(text).substr(kBox.size()));
  } else if (text.starts_with(kHeight)) {
    options.fit = Fit::kHeight;
    if (const auto height = whole(std::string_view(text).substr(kHeight.size())))
      size = ImageSize{.width = 0, .height = *height};
  } else {
    options.fit = Fit::kStretch;
    size = size_of(text);
  }
  if (!size) refuse_value("--resize", text, "WxH, letterbox:WxH, height:H or keep");
  options.size = *size;
}

double number_of(const std::string& option, std::string_view text) {
  // "1/255" reads better than its decimals.
  double value = 0, divisor = 1;
  const size_t slash = text.find('/');
  const auto read = [](std::string_view part, double& number) {
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), number);
    return failed == std::errc() && end == part.data() + part.size();
  };
  const bool is_read = read(text.substr(0, slash), value) &&
                       (slash == std::string_view::npos || (read(text.substr(slash + 1), divisor) && divisor != 0));
  if (!is_read) refuse_value(option, std::string(text), "numbers such as 0.5 or 1/255");
  return value / divisor;
}

bool has_archives(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return path.extension() == ".npz";
  for (const auto& entry : std::filesystem::directory_iterator(path, failed))
    if (entry.path().extension() == ".npz") return true;
  return false;
}

void add_numbers(CLI::App& app, const std::string& name, std::vector<double>& numbers, bool is_positive,
                 const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &numbers, is_positive](const std::string& text) {
           numbers.clear();
           for (size_t at = 0; at <= text.size();) {
             const size_t comma = std::min(text.find(',', at), text.size());
             numbers.push_back(number_of(name, std::string_view(text).substr(at, comma - at)));
             if (is_positive && !(numbers.back() > 0)) refuse_value(name, text, "numbers above 0");
             at = comma + 1;
           }
         },
         help)
      ->type_name("A,B,C");
}

}  // namespace

void add_feed_options(CLI::App& app, InputsOptions& options) {
  ImageModelOptions& image = options.image_model;
  app.add_option("--for", options.preset,
                 "a checkpoint's folder, or qwen2_vl, qwen2_5_vl, qwen3_vl, phi4_mm, qwen3_asr")
      ->type_name("FOLDER");
  app.add_option_function<std::string>(
         "--size",
         [&options](const std::string& text) {
           const std::optional<ImageSize> size = size_of(text);
           if (!size) refuse_value("--size", text, "a number of pixels, or WxH");
           options.size = size;
         },
         "Qwen: this size, instead of one that follows from the image's")
      ->type_name("N|WxH");
  app.add_option("--min-pixels", options.min_pixels, "Qwen: the least pixels, instead of the checkpoint's")
      ->type_name("N");
  app.add_option("--max-pixels", options.max_pixels, "Qwen: the most pixels, instead of the checkpoint's")
      ->type_name("N");
  add_choice<std::optional<Resampler>>(
      app, "--resampler", options.resampler,
      {{"pillow", Resampler::kPillow}, {"torch", Resampler::kTorch}, {"opencv", Resampler::kOpenCv}},
      "whose arithmetic resizes images; opencv: any image model (pillow; for phi4_mm torch)");
  app.add_flag_callback(
      "--no-upright", [&options] { options.upright = false; }, "leave photographs as the camera was held");
  app.add_option("--input", image.input, "any image model: which input, where several may be images")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--resize", [&image](const std::string& text) { read_resize(text, image); },
         "any image model: WxH, letterbox:WxH, height:H or keep")
      ->type_name("SPEC");
  add_choice<bool>(app, "--place", image.is_centered, {{"center", true}, {"corner", false}},
                   "where an image stands in its letterbox (center)");
  app.add_option("--border", image.border, "the samples of a letterbox's border (114)")
      ->type_name("0..255")
      ->check(CLI::Range(0, 255));
  app.add_option_function<std::string>(
         "--scale", [&image](const std::string& text) { image.scale = number_of("--scale", text); },
         "samples are pixel * scale first (1/255; for inputs of integers 1)")
      ->type_name("A");
  add_numbers(app, "--mean", image.mean, false, "then this is taken off, one number or one a channel (0)");
  add_numbers(app, "--std", image.std, true, "then they are divided by this (1)");
  add_choice<std::optional<bool>>(app, "--layout", image.channels_last, {{"nchw", false}, {"nhwc", true}},
                                  "the order of axes (as the model's input says)");
  add_choice<bool>(app, "--channels", image.bgr, {{"rgb", false}, {"bgr", true}}, "the order of channels (rgb)");
  add_choice<bool>(app, "--filter", image.bilinear, {{"bilinear", true}, {"bicubic", false}},
                   "what resizes (bilinear)");
}

void add_frame_rate(CLI::App& app, std::optional<double>& rate) {
  app.add_option("--fps", rate, "of --frames: frames a second, where a prompt or its positions tell the time")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

bool has_feed_options(const CLI::App& app) {
  for (const char* name : kNames)
    if (app.count(name) > 0) return true;
  return false;
}

std::vector<std::string> feed_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const char* name : kNames) {
    if (app.count(name) == 0) continue;
    const CLI::Option& option = *app.get_option(name);
    const bool is_flag = option.get_expected_max() == 0;
    words.push_back(is_flag ? std::string(name) : fmt::format("{}={}", name, fmt::join(option.results(), ",")));
  }
  return words;
}

InputsOptions feed_of(const std::vector<std::string>& words) {
  InputsOptions options;
  CLI::App app;
  add_feed_options(app, options);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants them
  } catch (const CLI::ParseError& wrong) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("how the report's samples were made is not understood: {}", wrong.what()),
                 .where = fmt::format("{}", fmt::join(words, " ")),
                 .expected = "options of `thaw inputs`"});
  }
  return options;
}

quantizing::OpenSamples open_fed(const CLI::App& app, const InputsOptions& options, const ir::Model& model) {
  if (!has_feed_options(app)) return {};
  return [&options, &model](const std::filesystem::path& path) {
    return quantizing::Samples(std::make_shared<media::FileSamples>(path, options, model));
  };
}

quantizing::OpenSamples open_fed(const CLI::App& app, const InputsOptions& options,
                                 const std::vector<std::string>& reported, const ir::Model& model) {
  if (has_feed_options(app) || reported.empty()) return open_fed(app, options, model);
  return [feed = feed_of(reported), &model](const std::filesystem::path& path) {
    if (has_archives(path)) return quantizing::Samples(path);
    return quantizing::Samples(std::make_shared<media::FileSamples>(path, feed, model));
  };
}

}  // namespace thaw::cli
