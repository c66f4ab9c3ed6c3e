#include "thaw/media/image_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/media/image/read_image.h"
#include "thaw/media/image/resample.h"
#include "thaw/media/option_rules.h"
#include "thaw/run/array.h"

namespace thaw::media {
namespace {

constexpr double kWhite = 255;

bool are_channels(const ir::DeclaredDim& dim) { return dim.value == 1 || dim.value == 3; }

// Axes of channels, height and width.
struct Axes {
  size_t channels, height, width;
};
Axes axes_of(size_t rank, bool channels_last) {
  return channels_last ? Axes{rank - 1, rank - 3, rank - 2} : Axes{rank - 3, rank - 2, rank - 1};
}

bool may_be_image(const ir::Value& value) {
  const ir::Type& type = value.type;
  if (value.constant() || type.kind != ir::Type::Kind::kTensor || !type.shape || type.shape->size() != 4) return false;
  return are_channels((*type.shape)[1]) || are_channels((*type.shape)[3]);
}

[[noreturn]] void refuse_input(const ir::Model& model, std::string what, std::string next) {
  std::vector<std::string> names;
  for (const ir::Value* input : model.graph->inputs())
    if (!input->constant()) names.push_back(input->name());
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what),
               .where = model.path.string(),
               .expected = fmt::format("an image among the inputs {}", fmt::join(names, ", ")),
               .next = std::move(next)});
}

const ir::Value& find_input(const ir::Model& model, const ImageModelOptions& options) {
  const ir::Value* found = nullptr;
  for (const ir::Value* input : model.graph->inputs()) {
    if (options.input.empty() ? !may_be_image(*input) : input->name() != options.input) continue;
    if (found) refuse_input(model, "several inputs may be images", "name one with --image-input");
    found = input;
  }
  if (found) return *found;
  if (options.input.empty())
    refuse_input(model, "no input has four axes of which the second or the last is 1 or 3 channels",
                 "name one with --image-input, or with --for whose settings count, as for recordings");
  refuse_input(model, fmt::format("there is no input '{}'", options.input), "");
}

// How an image is made to fit.
struct Fitting {
  Fit fit = Fit::kKeep;
  ImageSize size;
  Filter filter = Filter::kBilinear;
  Arithmetic arithmetic = Arithmetic::kPillow;
  uint8_t border = 0;
  bool is_centered = true;
};

Arithmetic arithmetic_of(Resampler resampler) {
  switch (resampler) {
    case Resampler::kTorch:
      return Arithmetic::kTorch;
    case Resampler::kOpenCv:
      return Arithmetic::kOpenCv;
    default:
      return Arithmetic::kPillow;
  }
}

Fitting fitting_of(const ImageInput& input, const InputsOptions& options) {
  const ImageModelOptions& how = options.image_model;
  Fitting fitting{.filter = how.bilinear ? Filter::kBilinear : Filter::kBicubic,
                  .arithmetic = arithmetic_of(options.resampler.value_or(Resampler::kPillow)),
                  .border = static_cast<uint8_t>(std::clamp(how.border, 0, 255)),
                  .is_centered = how.is_centered};
  const bool is_fixed = input.width && input.height;
  const bool is_sized = how.size.width != 0 || how.size.height != 0;
  fitting.fit = how.fit.value_or(is_sized || is_fixed ? Fit::kStretch : Fit::kKeep);
  fitting.size = how.size;
  if (!how.fit && !is_sized && is_fixed) fitting.size = {.width = *input.width, .height = *input.height};
  return fitting;
}

Image letterboxed(const Image& image, const Fitting& fitting, ImageSize& inside) {
  const ImageSize& box = fitting.size;
  const double scale = std::min(static_cast<double>(box.width) / static_cast<double>(image.width),
                                static_cast<double>(box.height) / static_cast<double>(image.height));
  const auto side = [&](int64_t from, int64_t most) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(static_cast<double>(from) * scale)), 1, most);
  };
  inside = {.width = side(image.width, box.width), .height = side(image.height, box.height)};
  const Image fit = resize(image, inside.width, inside.height, fitting.filter, fitting.arithmetic);
  Image result = blank(box.width, box.height, image.channels);
  std::ranges::fill(result.samples, fitting.border);
  const int64_t left = fitting.is_centered ? (box.width - inside.width) / 2 : 0;
  const int64_t top = fitting.is_centered ? (box.height - inside.height) / 2 : 0;
  for (int64_t y = 0; y < inside.height; ++y)
    std::copy_n(fit.row(y), fit.row_bytes(), result.row(top + y) + left * image.channels);
  return result;
}

Image fitted(const Image& image, const Fitting& fitting, ImageSize& inside, const std::string& name) {
  if (fitting.fit == Fit::kStretch || fitting.fit == Fit::kLetterbox)
    require_size(fitting.size.width, fitting.size.height, image.channels, name + ", --resize");
  if (fitting.fit == Fit::kLetterbox) return letterboxed(image, fitting, inside);
  inside = {.width = image.width, .height = image.height};
  if (fitting.fit == Fit::kStretch) inside = fitting.size;
  if (fitting.fit == Fit::kHeight) {
    const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
    const double width = std::ceil(static_cast<double>(fitting.size.height) * ratio);
    inside = {.width = std::max<int64_t>(1, static_cast<int64_t>(width)), .height = fitting.size.height};
    require_size(inside.width, inside.height, image.channels, name + ", --resize height");
  }
  return resize(image, inside.width, inside.height, fitting.filter, fitting.arithmetic);
}

// ITU-R 601's weights in 16 bits, as Pillow's mode "L" has them.
Image gray_of(const Image& rgb) {
  Image gray = blank(rgb.width, rgb.height, 1);
  const uint8_t* from = rgb.samples.data();
  for (uint8_t& sample : gray.samples) {
    sample = static_cast<uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
    from += 3;
  }
  return gray;
}

double one_of(const std::vector<double>& numbers, size_t channel, double otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers[numbers.size() == 1 ? 0 : channel];
}

void require_numbers(const std::vector<double>& numbers, const ImageInput& input, const char* option) {
  if (numbers.size() > 1 && static_cast<int64_t>(numbers.size()) != input.channels)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("has {} numbers", numbers.size()),
                 .where = option,
                 .expected = fmt::format("one, or one for each of {} channels", input.channels)});
}

double scale_of(const ImageInput& input, const ImageModelOptions& how) {
  return how.scale.value_or(ir::is_floating(input.dtype) ? 1.0 / kWhite : 1);
}

// A mean of what no pixel is, or a deviation beyond all of them, is of pixels on another scale.
void require_of_pixels(const ImageInput& input, const ImageModelOptions& how) {
  constexpr double kLevels = 256;  // that some divide by
  const double white = scale_of(input, how) * kWhite;
  const auto refuse = [&](const char* option, double number) {
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("{:g} is beyond the pixels, which are 0 to {:g} once they are multiplied by the scale",
                             number, white),
         .where = option,
         .expected = "a number on that scale",
         .next = "numbers for pixels of 0 to 255 take --scale 1 too"});
  };
  for (const double mean : how.mean)
    if (mean < std::min(0.0, white) || mean > std::max(0.0, white)) refuse("--mean", mean);
  for (const double deviation : how.std)
    if (deviation > std::abs(white) * kLevels / kWhite) refuse("--std", deviation);
}

// What --resize may say for the sizes that are fixed.
std::string resize_of(const ImageInput& input) {
  if (input.width && input.height)
    return fmt::format("--resize {0}x{1} or letterbox:{0}x{1}", *input.width, *input.height);
  return input.height ? fmt::format("--resize height:{0} or WIDTHx{0}", *input.height)
                      : fmt::format("--resize {}xHEIGHT", *input.width);
}

void require_fixed(std::optional<int64_t> fixed, int64_t given, const char* what, const ImageInput& input,
                   const std::string& where) {
  if (!fixed || *fixed == given) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the image is made {} pixels {}, and input '{}' takes {} only", given, what,
                                   input.name, *fixed),
               .where = where,
               .next = "use " + resize_of(input)});
}

// An image's layout has 1 or 3 channels where the option says it has, or says nothing of them.
void require_layout(const ir::Model& model, const std::string& name, const std::vector<ir::DeclaredDim>& dims,
                    bool channels_last) {
  const size_t rank = dims.size();
  const auto& channels = dims[axes_of(rank, channels_last).channels];
  const auto& others = dims[axes_of(rank, !channels_last).channels];
  if (channels.value || !are_channels(others)) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("axis {} of input '{}' is its {} channel{}", axes_of(rank, !channels_last).channels,
                                   name, *others.value, *others.value == 1 ? "" : "s"),
               .where = fmt::format("{}, --layout {}", model.path.string(), channels_last ? "nhwc" : "nchw"),
               .expected = fmt::format("--layout {}, which is what it says without the option",
                                       channels_last ? "nchw" : "nhwc")});
}

// How many elements of an array of integers are not what they were as floats: past the type's ends.
int64_t saturated(const Array& floats, const Array& integers) {
  const Array back = run::cast(integers, DataType::kFloat);
  std::vector<float> was(static_cast<size_t>(floats.num_elements())), is(was.size());
  std::memcpy(was.data(), floats.bytes.data(), floats.bytes.size());
  std::memcpy(is.data(), back.bytes.data(), back.bytes.size());
  int64_t count = 0;
  for (size_t i = 0; i < was.size(); ++i) count += std::abs(was[i] - is[i]) >= 1;  // less is what is cut off
  return count;
}

class Batch {
 public:
  Batch(const ImageInput& input, const ImageModelOptions& how, std::vector<Image> images)
      : input_(input), images_(std::move(images)) {
    for (const Image& image : images_) {
      width_ = std::max(width_, image.width);
      height_ = std::max(height_, image.height);
    }
    const double scale = scale_of(input, how);
    for (size_t c = 0; c < static_cast<size_t>(input.channels); ++c) {
      std::vector<float>& table = tables_.emplace_back();
      for (int level = 0; level < 256; ++level)
        table.push_back(static_cast<float>((level * scale - one_of(how.mean, c, 0)) / one_of(how.std, c, 1)));
    }
    is_bgr_ = how.bgr && input.channels == 3;
  }

  // Adds what is lost in an array of integers to `warnings`.
  Array array(std::vector<std::string>& warnings) const {
    const int64_t count = static_cast<int64_t>(images_.size());
    std::vector<int64_t> dims = input_.channels_last ? std::vector{count, height_, width_, input_.channels}
                                                     : std::vector{count, input_.channels, height_, width_};
    std::vector<float> numbers(static_cast<size_t>(run::element_count(dims)));
    float* to = numbers.data();
    for (const Image& image : images_) {
      write(image, to);
      to += width_ * height_ * input_.channels;
    }
    if (!input_.has_batch) dims.erase(dims.begin());
    Array array = Array::zeros(DataType::kFloat, std::move(dims));
    std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
    if (input_.dtype == DataType::kFloat) return array;
    Array made = run::cast(array, input_.dtype);
    const int64_t lost = ir::is_integer(input_.dtype) ? saturated(array, made) : 0;
    if (lost > 0) warnings.push_back(saturation_text(lost, made));
    return made;
  }

 private:
  void write(const Image& image, float* to) const {
    const int64_t across = input_.channels_last ? input_.channels : 1;
    const int64_t down = width_ * across, plane = input_.channels_last ? 1 : width_ * height_;
    for (int64_t c = 0; c < input_.channels; ++c) {
      const int64_t from_channel = is_bgr_ ? 2 - c : c;
      const std::vector<float>& table = tables_[static_cast<size_t>(c)];
      for (int64_t y = 0; y < image.height; ++y) {
        const uint8_t* from = image.row(y) + from_channel;
        for (int64_t x = 0; x < image.width; ++x)
          to[c * plane + y * down + x * across] = table[from[x * image.channels]];
      }
    }
  }

  std::string saturation_text(int64_t lost, const Array& made) const {
    const auto all = static_cast<double>(made.num_elements());
    return fmt::format(
        "{} of {} elements of '{}' ({:.3g} %) are past the ends of {} and stand at them: see --scale, --mean and --std",
        lost, made.num_elements(), input_.name, 100 * static_cast<double>(lost) / all, ir::name_of(input_.dtype));
  }

  const ImageInput& input_;
  std::vector<Image> images_;
  std::vector<std::vector<float>> tables_;  // by channel as it is fed, and level
  int64_t width_ = 0, height_ = 0;
  bool is_bgr_ = false;
};

}  // namespace

ImageInput image_input(const ir::Model& model, const ImageModelOptions& options) {
  const ir::Value& value = find_input(model, options);
  const ir::Type& type = value.type;
  const size_t rank = type.shape ? type.shape->size() : 0;
  if (rank < 3 || rank > 4)
    refuse_input(model, fmt::format("input '{}' has no three or four axes", value.name()),
                 "name an image with --image-input");
  ImageInput input{.name = value.name(), .dtype = type.elem_type, .has_batch = rank == 4};
  const std::vector<ir::DeclaredDim>& dims = *type.shape;
  const bool is_first = are_channels(dims[rank - 3]), is_last = are_channels(dims[rank - 1]);
  input.channels_last = options.channels_last.value_or(is_last && !is_first);
  if (options.channels_last) require_layout(model, value.name(), dims, input.channels_last);
  const Axes axes = axes_of(rank, input.channels_last);
  input.channels = dims[axes.channels].value.value_or(3);
  if (input.channels != 1 && input.channels != 3)
    refuse_input(model, fmt::format("input '{}' has {} channels", value.name(), input.channels),
                 "see --layout and --image-input");
  input.width = dims[axes.width].value;
  input.height = dims[axes.height].value;
  input.batch = rank == 4 ? dims.front().value : 1;
  return input;
}

PreparedInputs image_model_inputs(std::span<const std::filesystem::path> files, const ImageInput& input,
                                  const InputsOptions& options) {
  const ImageModelOptions& how = options.image_model;
  require_numbers(how.mean, input, "--mean");
  require_numbers(how.std, input, "--std");
  require_of_pixels(input, how);
  require_options_of(input, options);
  const Fitting fitting = fitting_of(input, options);
  if (input.batch && *input.batch != static_cast<int64_t>(files.size()))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} image{} given", files.size(), files.size() == 1 ? " is" : "s are"),
                 .where = how.model.string(),
                 .expected = fmt::format("{}, as input '{}' takes", *input.batch, input.name),
                 .next = "`thaw fix` or `thaw batch` frees its batch"});
  PreparedInputs result;
  std::vector<Image> images;
  for (const std::filesystem::path& path : files) {
    Image image = read_image(path, options.upright);
    PreparedFile& file = result.files.emplace_back();
    file.name = path.string();
    file.from = {.width = image.width, .height = image.height};
    if (input.channels == 1) image = gray_of(image);
    images.push_back(fitted(image, fitting, file.to, file.name));
    const Image& last = images.back();
    require_fixed(input.height, last.height, "high", input, file.name);
    const bool is_padded = fitting.fit == Fit::kHeight;
    if (!is_padded) require_fixed(input.width, last.width, "wide", input, file.name);
    const Image& first = images.front();
    if (last.height != first.height || (!is_padded && last.width != first.width))
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("images of {} x {} and {} x {} pixels do not make one batch", first.width,
                                       first.height, last.width, last.height),
                   .where = file.name,
                   .next = "make them one size with --resize WxH or letterbox:WxH"});
  }
  result.arrays.emplace(input.name, Batch(input, how, std::move(images)).array(result.warnings));
  return result;
}

}  // namespace thaw::media
