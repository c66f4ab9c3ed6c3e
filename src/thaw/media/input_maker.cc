#include "thaw/media/input_maker.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/media/asr_audio.h"
#include "thaw/media/clip_times.h"
#include "thaw/media/image/read_image.h"
#include "thaw/media/option_rules.h"
#include "thaw/media/phi4_images.h"
#include "thaw/media/prompt_order.h"
#include "thaw/media/qwen_images.h"
#include "thaw/media/text/tokenizer.h"

namespace thaw::media {
namespace {

namespace fs = std::filesystem;

ImageSize size_of(const Image& image) { return {.width = image.width, .height = image.height}; }

// Frames stand in memory one after the other until they are resized.
std::vector<Image> read_frames(const std::vector<fs::path>& paths, bool upright) {
  std::vector<Image> frames;
  for (const fs::path& path : paths) {
    frames.push_back(read_image(path, upright));
    if (size_of(frames.back()) != size_of(frames.front()))
      refuse_option(fmt::format("the frame has {} x {} pixels, the clip's first has {} x {}", frames.back().width,
                                frames.back().height, frames.front().width, frames.front().height),
                    path.string(), "frames of one size");
  }
  return frames;
}

// Each placeholder's id repeated as often as its file has tokens, as transformers' processors repeat its text. Throws
// thaw::Error (kInvalidArgument) where the text has another number of them than there are files.
std::vector<int64_t> expanded(const std::vector<int64_t>& ids, const std::vector<Placeholder>& placeholders) {
  for (const Placeholder& placeholder : placeholders) {
    const auto found = static_cast<size_t>(std::ranges::count(ids, placeholder.id));
    if (found == placeholder.tokens.size()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("it has {} placeholder{} (token {}) for {} {}{}", found, found == 1 ? "" : "s",
                                     placeholder.id, placeholder.tokens.size(), placeholder.what,
                                     placeholder.tokens.size() == 1 ? "" : "s"),
                 .where = "the prompt",
                 .expected = "one for each, as the checkpoint's chat template writes it"});
  }
  std::vector<int64_t> result;
  std::vector<size_t> next(placeholders.size());
  for (const int64_t id : ids) {
    const auto found = std::ranges::find(placeholders, id, &Placeholder::id);
    const auto which = static_cast<size_t>(found - placeholders.begin());
    const int64_t count = found == placeholders.end() ? 1 : found->tokens[next[which]++];
    result.insert(result.end(), static_cast<size_t>(count), id);
  }
  return result;
}

}  // namespace

InputMaker::InputMaker(InputsOptions options) : options_(std::move(options)) {
  if (!options_.preset.empty()) {
    read_preset();
    return;
  }
  refuse_preset_options(options_);
  if (options_.image_model.model.empty())
    refuse_option("nothing says what the files are for", "thaw inputs",
                  "--for with a checkpoint or one of " + family_names() + ", or --model");
  input_ = image_input(*ir::load(options_.image_model.model), options_.image_model);
}

InputMaker::InputMaker(InputsOptions options, const ir::Model& model) : options_(std::move(options)) {
  if (options_.preset.empty()) {
    refuse_preset_options(options_);
    input_ = image_input(model, options_.image_model);
    return;
  }
  read_preset();
  const auto has_input = [&](std::string_view name) {
    return std::ranges::any_of(model.graph->inputs(), [&](const ir::Value* input) { return input->name() == name; });
  };
  if (!preset_ || !preset_->takes_clips()) return;
  options_.whole_images |= has_input("image") && !has_input("pixel_values");
  if (options_.whole_images && !options_.clips.empty())
    refuse_option("the tower takes whole images, and clips are made into patches", "--frames",
                  "a tower built with --vision-input patches");
}

void InputMaker::read_preset() {
  refuse_image_model_options(options_);
  std::error_code failed;
  if (options_.text && !fs::is_directory(options_.preset, failed))
    refuse_option("a text needs the checkpoint's tokenizer", "--text", "--for with the checkpoint's folder");
  try {
    preset_ = preset_for(options_.preset);
  } catch (const Error& error) {
    // Of a decoder alone the tokenizer is all that there is to know.
    if (!has_prompt() || error.code() != ErrorCode::kUnsupported) throw;
    return;
  }
  require_options_of(*preset_, options_);
}

bool InputMaker::takes(const fs::path& path) const {
  const std::string extension = ascii::to_lower(path.extension().string());
  if (preset_ && preset_->takes_audio()) return extension == ".wav" || extension == ".flac";
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

PreparedInputs InputMaker::make(std::span<const fs::path> files) const {
  PreparedInputs made;
  std::vector<int64_t> ids;
  if (has_prompt()) ids = prompt();
  if (!files.empty() || !options_.clips.empty()) {
    made = make_of_files(files, ids);
  } else if (!has_prompt()) {
    refuse_option("no files are given", "thaw inputs");
  }
  if (has_prompt()) add_text(std::move(ids), made);
  return made;
}

std::vector<int64_t> InputMaker::prompt() const {
  if (!options_.text) return options_.tokens;
  return Tokenizer(options_.preset).ids(preset_ ? with_times(*options_.text, *preset_, options_) : *options_.text);
}

void InputMaker::add_text(std::vector<int64_t> ids, PreparedInputs& made) const {
  if (preset_) ids = expanded(ids, placeholders_of(made));
  const int64_t length = static_cast<int64_t>(ids.size());
  const std::vector<int64_t> ones(ids.size(), 1);
  made.arrays.emplace("attention_mask", Array::from_int64(DataType::kInt64, {1, length}, ones));
  made.arrays.emplace("input_ids", Array::from_int64(DataType::kInt64, {1, length}, ids));
}

std::vector<Placeholder> InputMaker::placeholders_of(const PreparedInputs& made) const {
  std::vector<Placeholder> placeholders;
  const auto add = [&](const char* what, int64_t id, auto&& is_of_kind) {
    Placeholder placeholder{.what = what, .id = id, .tokens = {}};
    for (const PreparedFile& file : made.files) {
      if (!is_of_kind(file)) continue;
      const int64_t parts = has_times(*preset_) ? std::max<int64_t>(1, frame_groups(file.frames, *preset_)) : 1;
      placeholder.tokens.insert(placeholder.tokens.end(), static_cast<size_t>(parts), file.tokens / parts);
    }
    if (id >= 0 || !placeholder.tokens.empty()) placeholders.push_back(std::move(placeholder));
  };
  if (preset_->takes_audio()) {
    add("recording", preset_->audio_token, [](const PreparedFile&) { return true; });
  } else {
    add("image", preset_->image_token, [](const PreparedFile& file) { return file.frames == 0; });
    add(has_times(*preset_) ? "frame group" : "clip", preset_->clip_token,
        [](const PreparedFile& file) { return file.frames > 0; });
  }
  return placeholders;
}

std::vector<size_t> InputMaker::order_of(size_t images, std::span<const int64_t> prompt) const {
  PicturesOfPrompt pictures{.image_token = preset_->image_token, .clip_token = preset_->clip_token, .images = images};
  for (const std::vector<fs::path>& clip : options_.clips) {
    if (clip.empty()) refuse_option("a clip has no frames", "--frames");
    pictures.groups.push_back(has_times(*preset_) ? frame_groups(static_cast<int64_t>(clip.size()), *preset_) : 1);
  }
  return order_in_prompt(prompt, pictures);
}

PreparedInputs InputMaker::make_of_files(std::span<const fs::path> files, std::span<const int64_t> prompt) const {
  // A decoder's checkpoint has a tokenizer and nothing that is made of files: this says so.
  if (!preset_ && !input_) preset_for(options_.preset);
  if (!preset_) return image_model_inputs(files, *input_, options_);
  if (preset_->takes_audio()) return asr_inputs(files, preset_->audio);
  return preset_->takes_clips() ? make_qwen(files, prompt) : make_phi4(files);
}

PreparedInputs InputMaker::make_qwen(std::span<const fs::path> files, std::span<const int64_t> prompt) const {
  const Arithmetic arithmetic = options_.resampler == Resampler::kTorch ? Arithmetic::kTorch : Arithmetic::kPillow;
  PreparedInputs result;
  FloatRows rows;
  std::vector<int64_t> grids;
  const auto add = [&](std::vector<Image> frames, const ImageSettings& settings, std::string name, bool is_clip) {
    PreparedFile& file = result.files.emplace_back();
    file.name = std::move(name);
    file.from = size_of(frames.front());
    if (is_clip) file.frames = static_cast<int64_t>(frames.size());
    const bool counts_frames = is_clip && preset_->family == Family::kQwen3Vl;
    if (options_.size) {
      file.to = *options_.size;
    } else if (settings.resizes) {
      file.to = smart_size(file.from, settings, file.name, static_cast<int64_t>(frames.size()), counts_frames);
    } else {
      file.to = file.from;
      require_multiple(file.to, settings, file.name);
    }
    require_size(file.to.width, file.to.height, 3, file.name);
    for (Image& frame : frames) frame = resize(frame, file.to.width, file.to.height, settings.filter, arithmetic);
    if (options_.whole_images) {
      if (file.to != result.files.front().to)
        refuse_option(fmt::format("the image becomes {} x {} pixels, the first {} x {}", file.to.width, file.to.height,
                                  result.files.front().to.width, result.files.front().to.height),
                      file.name, "images of one size in a call: with --image-size, or a call for each");
      append_image(frames.front(), settings, rows);
      file.tokens = file.to.width * file.to.height / (settings.factor() * settings.factor());
      return;
    }
    const std::array<int64_t, 3> grid = append_patches(frames, settings, rows);
    grids.insert(grids.end(), grid.begin(), grid.end());
    file.tokens = grid[0] * grid[1] * grid[2] / (settings.merge * settings.merge);
  };
  for (const size_t i : order_of(files.size(), prompt)) {
    if (i < files.size()) {
      std::vector<Image> image;
      image.push_back(read_image(files[i], options_.upright));
      add(std::move(image), bounded(preset_->images, options_, "an image"), files[i].string(), false);
      continue;
    }
    const std::vector<fs::path>& clip = options_.clips[i - files.size()];
    add(read_frames(clip, options_.upright), bounded(preset_->clips, options_, "a clip"), clip.front().string(), true);
  }
  const ImageSettings& settings = preset_->images;
  if (options_.whole_images) {
    const ImageSize size = result.files.front().to;
    result.arrays.emplace("image", rows.take({static_cast<int64_t>(result.files.size()), 3, size.height, size.width}));
    return result;
  }
  const int64_t width = 3 * settings.temporal_patch * settings.patch * settings.patch;
  const auto patches = static_cast<int64_t>(rows.size()) / width;
  result.arrays.emplace("pixel_values", rows.take({patches, width}));
  result.arrays.emplace("grid_thw",
                        Array::from_int64(DataType::kInt64, {static_cast<int64_t>(grids.size() / 3), 3}, grids));
  return result;
}

PreparedInputs InputMaker::make_phi4(std::span<const fs::path> files) const {
  const Arithmetic arithmetic = options_.resampler == Resampler::kPillow ? Arithmetic::kPillow : Arithmetic::kTorch;
  PreparedInputs result;
  std::vector<Crops> images;
  for (const fs::path& path : files) {
    const Image image = read_image(path, options_.upright);
    const Crops& crops = images.emplace_back(cut_crops(image, preset_->images, arithmetic, path.string()));
    PreparedFile& file = result.files.emplace_back();
    file.name = path.string();
    file.from = size_of(image);
    file.to = {.width = crops.columns * preset_->images.crop, .height = crops.rows * preset_->images.crop};
    file.tokens = crops.tokens;
  }
  result.arrays = crops_as_arrays(std::move(images), preset_->images);
  return result;
}

}  // namespace thaw::media
