#include "thaw/verbs/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/media/file_samples.h"
#include "thaw/verbs/texts.h"

namespace thaw::verbs {
namespace {

[[noreturn]] void refuse_value(std::string_view option, const std::string& text, std::string_view wanted,
                               const std::string& hint = {}) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("{} takes {}, not '{}'{}", option, wanted, text, hint)});
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int64_t kMost = 1 << 20;
  if (failed != std::errc() || end != text.data() + text.size() || number < 1 || number > kMost) return std::nullopt;
  return number;
}

// "672" or "640x480".
std::optional<ImageSize> image_size(std::string_view text) {
  const size_t cross = text.find('x');
  const std::optional<int64_t> width = whole_number(text.substr(0, cross));
  const std::optional<int64_t> height = cross == std::string_view::npos ? width : whole_number(text.substr(cross + 1));
  if (!width || !height) return std::nullopt;
  return ImageSize{.width = *width, .height = *height};
}

void set_size(InputsOptions& options, const std::string& text) {
  options.size = image_size(text);
  if (!options.size) refuse_value("--image-size", text, "a number of pixels, or WxH");
}

void set_resize(InputsOptions& inputs, const std::string& text) {
  constexpr std::string_view kBox = "letterbox:", kHeight = "height:";
  ImageModelOptions& options = inputs.image_model;
  std::optional<ImageSize> size;
  if (text == "keep") {
    options.fit = Fit::kKeep;
    return;
  }
  if (text.starts_with(kBox)) {
    options.fit = Fit::kLetterbox;
    size = image_size(std::string_view(text).substr(kBox.size()));
  } else if (text.starts_with(kHeight)) {
    options.fit = Fit::kHeight;
    if (const auto height = whole_number(std::string_view(text).substr(kHeight.size())))
      size = ImageSize{.width = 0, .height = *height};
  } else {
    options.fit = Fit::kStretch;
    size = image_size(text);
  }
  if (!size) refuse_value("--resize", text, "WxH, letterbox:WxH, height:H or keep");
  options.size = *size;
}

double number_of(std::string_view option, std::string_view text) {
  // "1/255" reads better than its decimals.
  double value = 0, divisor = 1;
  const size_t slash = text.find('/');
  const auto read = [](std::string_view part, double& number) {
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), number);
    return failed == std::errc() && end == part.data() + part.size() && std::isfinite(number);
  };
  const bool is_read = read(text.substr(0, slash), value) &&
                       (slash == std::string_view::npos || (read(text.substr(slash + 1), divisor) && divisor != 0));
  if (!is_read || !std::isfinite(value / divisor))
    refuse_value(option, std::string(text), "numbers such as 0.5 or 1/255");
  return value / divisor;
}

std::vector<double> numbers_of(std::string_view option, const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& part : split_at_commas(text)) numbers.push_back(number_of(option, part));
  return numbers;
}

int64_t pixels_of(std::string_view option, const std::string& text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number < 1)
    refuse_value(option, text, "a number of pixels, 1 or more");
  return number;
}

template <typename T>
T choice_of(std::string_view option, const std::string& text,
            std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> known;
  for (const auto& [word, meaning] : choices) {
    if (word == text) return meaning;
    known.push_back(word);
  }
  refuse_value(option, text, fmt::format("{}", fmt::join(known, "|")), did_you_mean(text, known));
}

constexpr PreprocessingWord kPreprocessing[] = {
    {"--for", "FOLDER", "a checkpoint's folder or its family: qwen2_vl, qwen2_5_vl, qwen3_vl, phi4_mm, qwen3_asr",
     [](InputsOptions& o, const std::string& text) { o.preset = text; }},
    {"--image-size", "N|WxH", "Qwen: resize to this size, not to one computed from the image's", set_size},
    {"--min-pixels", "N", "Qwen: at least this many pixels (the checkpoint's)",
     [](InputsOptions& o, const std::string& text) { o.min_pixels = pixels_of("--min-pixels", text); }},
    {"--max-pixels", "N", "Qwen: at most this many pixels (the checkpoint's)",
     [](InputsOptions& o, const std::string& text) { o.max_pixels = pixels_of("--max-pixels", text); }},
    {"--resampler", "pillow|torch|opencv", "resize as this library does (pillow; phi4_mm: torch)",
     [](InputsOptions& o, const std::string& text) {
       o.resampler = choice_of<Resampler>(
           "--resampler", text,
           {{"pillow", Resampler::kPillow}, {"torch", Resampler::kTorch}, {"opencv", Resampler::kOpenCv}});
     }},
    {"--no-upright", "", "do not rotate photographs by their EXIF orientation",
     [](InputsOptions& o, const std::string&) { o.upright = false; }},
    {"--image-input", "NAME", "the input that takes the image, where several may",
     [](InputsOptions& o, const std::string& text) { o.image_model.input = text; }},
    {"--resize", "SPEC", "WxH, letterbox:WxH, height:H or keep (the model's size)", set_resize},
    {"--place", "center|corner", "where the image is in its letterbox (center)",
     [](InputsOptions& o, const std::string& text) {
       o.image_model.is_centered = choice_of<bool>("--place", text, {{"center", true}, {"corner", false}});
     }},
    {"--border", "0..255", "the value of a letterbox's border (114)",
     [](InputsOptions& o, const std::string& text) {
       const std::optional<int64_t> border = text == "0" ? 0 : whole_number(text);
       if (!border || *border > 255) refuse_value("--border", text, "a number from 0 to 255");
       o.image_model.border = static_cast<int>(*border);
     }},
    {"--scale", "A", "first multiply pixels by this (1/255; integer inputs: 1)",
     [](InputsOptions& o, const std::string& text) { o.image_model.scale = number_of("--scale", text); }},
    {"--mean", "A,B,C", "then subtract this: one number, or one for each channel (0)",
     [](InputsOptions& o, const std::string& text) { o.image_model.mean = numbers_of("--mean", text); }},
    {"--std", "A,B,C", "then divide by this: one number, or one for each channel (1)",
     [](InputsOptions& o, const std::string& text) {
       o.image_model.std = numbers_of("--std", text);
       for (const double number : o.image_model.std)
         if (!(number > 0)) refuse_value("--std", text, "numbers above 0");
     }},
    {"--layout", "nchw|nhwc", "the order of axes (the model's)",
     [](InputsOptions& o, const std::string& text) {
       o.image_model.channels_last = choice_of<bool>("--layout", text, {{"nchw", false}, {"nhwc", true}});
     }},
    {"--channels", "rgb|bgr", "the order of channels (rgb)",
     [](InputsOptions& o, const std::string& text) {
       o.image_model.bgr = choice_of<bool>("--channels", text, {{"rgb", false}, {"bgr", true}});
     }},
    {"--filter", "bilinear|bicubic", "the resize filter (bilinear)",
     [](InputsOptions& o, const std::string& text) {
       o.image_model.bilinear = choice_of<bool>("--filter", text, {{"bilinear", true}, {"bicubic", false}});
     }},
};

bool has_archives(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return path.extension() == ".npz";
  return std::ranges::any_of(std::filesystem::directory_iterator(path, failed),
                             [](const auto& entry) { return entry.path().extension() == ".npz"; });
}

void set_word(const std::string& word, InputsOptions& options) {
  const size_t equals = word.find('=');
  std::string_view name = std::string_view(word).substr(0, equals);
  if (name == "--input") name = "--image-input";
  if (name == "--size") name = "--image-size";
  const auto known = std::ranges::find(kPreprocessing, name, &PreprocessingWord::name);
  if (known == std::end(kPreprocessing) || known->type.empty() != (equals == std::string::npos))
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' is none of them", word)});
  known->set(options, equals == std::string::npos ? std::string() : word.substr(equals + 1));
}

}  // namespace

std::span<const PreprocessingWord> preprocessing_words() { return kPreprocessing; }

InputsOptions parse_preprocessing(std::span<const std::string> words) {
  InputsOptions options;
  try {
    for (const std::string& word : words) set_word(word, options);
  } catch (const Error& wrong) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("how the report's samples were made is not understood: {}", wrong.parts().what),
                 .where = fmt::format("{}", fmt::join(words, " ")),
                 .expected = "options of `thaw inputs`"});
  }
  return options;
}

quantizing::Samples open_samples(const std::filesystem::path& data, std::span<const std::string> words,
                                 const ir::Model& model) {
  if (words.empty()) return quantizing::Samples(data, model);
  return quantizing::Samples(std::make_shared<media::FileSamples>(data, parse_preprocessing(words), model));
}

quantizing::Samples open_reported(const std::filesystem::path& data, std::span<const std::string> words,
                                  const ir::Model& model) {
  return has_archives(data) ? quantizing::Samples(data, model) : open_samples(data, words, model);
}

}  // namespace thaw::verbs
