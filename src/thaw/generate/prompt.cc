#include "thaw/generate/prompt.h"

#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/generate/embedder.h"
#include "thaw/ir/graph/model.h"
#include "thaw/media/clip_times.h"
#include "thaw/media/input_maker.h"

namespace thaw::generating {
namespace {

[[noreturn]] void refuse_prompt(std::string what, std::string where, std::string expected) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what), .where = std::move(where), .expected = std::move(expected)});
}

bool has_files(const GenerateOptions& options) { return !options.files.empty() || !options.clips.empty(); }

}  // namespace

PromptMaker::PromptMaker(const BuiltFolder& built) : built_(built) {
  if (built_.tower) preset_ = media::preset_for(built_.checkpoint.string());
}

Prompt PromptMaker::make(const GenerateOptions& options) {
  const int given = !options.prompt.empty() + options.text.has_value() + !options.tokens.empty();
  if (given != 1)
    refuse_prompt("the prompt is not given, or more than once", "a prompt of the folder",
                  "one of --prompt, --text and --tokens");
  if (has_files(options) && !(built_.tower && built_.embedding))
    refuse_prompt("there is no tower for files in the folder", built_.text.parent_path().string(),
                  "vision.onnx or audio.onnx, and embedding.onnx, as `thaw build --kv-cache` writes all parts");
  PreparedInputs fed = prepared(options);
  Prompt prompt{.ids = to_int64s(fed.arrays.at(kIds)), .arrays = {}, .positions = {}};
  prompt.has_files = has_files(options);
  prompt.is_of_tokens = !options.tokens.empty();
  for (const PreparedFile& file : fed.files) prompt.audio_seconds += file.seconds;
  prompt.positions = rope_positions(prompt.ids, pictures_of(fed, options));
  prompt.arrays = std::move(fed.arrays);
  return prompt;
}

std::string PromptMaker::text(const std::vector<int64_t>& tokens) const {
  return tokenizer_ ? tokenizer_->text(tokens) : std::string();
}

void PromptMaker::open_tokenizer(bool is_needed) {
  if (tokenizer_ || (tokenizer_was_sought_ && !is_needed)) return;
  tokenizer_was_sought_ = true;
  try {
    tokenizer_ = std::make_unique<media::Tokenizer>(built_.checkpoint);
  } catch (const Error& error) {
    // Tokens in, tokens out: no text is needed.
    if (is_needed || error.code() != ErrorCode::kCannotRead) throw;
  }
}

PreparedInputs PromptMaker::prepared(const GenerateOptions& options) {
  open_tokenizer(options.tokens.empty());
  InputsOptions inputs{.preset = built_.checkpoint.string(),
                       .clips = options.clips,
                       .frame_rate = options.frame_rate,
                       .tokens = options.tokens};
  if (inputs.tokens.empty()) {
    const std::string text = options.text ? *options.text : prompt_of_words(options);
    inputs.tokens = tokenizer_->ids(preset_ ? media::with_times(text, *preset_, inputs) : text);
  }
  if (inputs.tokens.empty()) refuse_prompt("the prompt has no tokens", "a prompt of the folder", "a text");
  if (!has_files(options)) return media::InputMaker(inputs).make({});
  return media::InputMaker(inputs, *ir::load(*built_.tower)).make(options.files);
}

std::string PromptMaker::prompt_of_words(const GenerateOptions& options) const {
  const size_t files = options.files.size();
  if (!preset_ || preset_->family != media::Family::kPhi4) {
    std::vector<std::string> kinds(files, preset_ && preset_->takes_audio() ? "audio" : "image");
    kinds.resize(files + options.clips.size(), "video");
    return tokenizer_->prompt(options.prompt, kinds);
  }
  // Its template takes words alone, and what stands for an image in them is this token.
  std::string words;
  for (size_t i = 0; i < files; ++i) words += "<|endoftext10|>";
  return tokenizer_->prompt(words + options.prompt, {});
}

std::vector<Pictures> PromptMaker::pictures_of(const PreparedInputs& fed, const GenerateOptions& options) const {
  if (!preset_ || !preset_->takes_clips()) return {};
  Pictures images{.token = preset_->image_token, .grids = {}}, clips{.token = preset_->clip_token, .grids = {}};
  const int64_t side = preset_->images.factor();
  for (const PreparedFile& file : fed.files) {
    TokenGrid grid{.height = file.to.height / side, .width = file.to.width / side};
    if (file.frames == 0) {
      images.grids.push_back(grid);
      continue;
    }
    const int64_t groups = media::frame_groups(file.frames, *preset_);
    if (media::has_times(*preset_)) {
      clips.grids.insert(clips.grids.end(), static_cast<size_t>(groups), grid);
      continue;
    }
    grid.groups = groups;
    if (preset_->steps_per_second > 0) grid.step = step_of_time(options);
    clips.grids.push_back(grid);
  }
  return {images, clips};
}

// From one group of frames to the next, in float32, as transformers multiplies it.
float PromptMaker::step_of_time(const GenerateOptions& options) const {
  if (!options.frame_rate)
    refuse_prompt("in the decoder's positions frames of a clip have times, and these are not known", "--frames",
                  "--fps, the frames a second of the images given");
  const auto seconds = static_cast<float>(static_cast<double>(preset_->clips.temporal_patch) / *options.frame_rate);
  return static_cast<float>(preset_->steps_per_second) * seconds;
}

}  // namespace thaw::generating
