#include "thaw/generate/generate.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/decoder.h"
#include "thaw/generate/growing_text.h"
#include "thaw/generate/rope_positions.h"
#include "thaw/ir/graph/model.h"
#include "thaw/media/clip_times.h"
#include "thaw/media/input_maker.h"
#include "thaw/media/preset.h"
#include "thaw/media/text/tokenizer.h"
#include "thaw/run/session.h"

namespace thaw::generating {
namespace {

constexpr const char* kIds = "input_ids";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void refuse(std::string what, std::string where, std::string expected) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what), .where = std::move(where), .expected = std::move(expected)});
}

// Token ids as what a decoder takes: itself, or the rows of embedding.onnx with a tower's features in their places.
class Embedder {
 public:
  // Without a model, ids stay ids.
  Embedder(const std::optional<std::filesystem::path>& model, const SessionOptions& options) {
    if (!model) return;
    const auto loaded = ir::load(*model);
    for (const ir::Value* input : loaded->graph->inputs()) {
      if (input->name() == kIds || !input->type.shape) continue;
      std::vector<int64_t> dims;
      for (const ir::DeclaredDim& dim : *input->type.shape) dims.push_back(dims.empty() ? 0 : dim.value.value_or(0));
      none_.emplace(input->name(), Array::zeros(input->type.elem_type, std::move(dims)));
    }
    session_.emplace(*model, options);
  }

  // By names of the decoder's inputs, each [1, seq, …]. `features`: the tower's outputs, by their names; those that are not
  // there have no rows. Throws thaw::Error (kInvalidArgument) where there are not as many rows as placeholders.
  Arrays run(const std::vector<int64_t>& ids, const Arrays& features) {
    Arrays feeds;
    feeds.emplace(kIds, Array::from_int64(ir::DataType::kInt64, {1, static_cast<int64_t>(ids.size())}, ids));
    if (!session_) return feeds;
    for (const auto& [name, none] : none_) {
      const auto at = features.find(name);
      feeds.emplace(name, at == features.end() ? none : at->second);
    }
    return session_->run(feeds);
  }

 private:
  std::optional<run::Session> session_;
  Arrays none_;  // features of no rows
};

class Generator {
 public:
  Generator(const std::filesystem::path& folder, const GenerateOptions& options)
      : options_(options), built_(open_built(folder, options.checkpoint)) {
    const int given = !options.prompt.empty() + options.text.has_value() + !options.tokens.empty();
    if (given != 1)
      refuse("the prompt is not given, or more than once", "thaw run", "one of --prompt, --text and --tokens");
    if (options.max_new_tokens < 1) refuse("no token is to be made", "--max-new-tokens", "1 or more");
    if (has_files() && !(built_.tower && built_.embedding))
      refuse("there is no tower for files in the folder", folder.string(),
             "vision.onnx or audio.onnx, and embedding.onnx, as `thaw build --kv-cache` writes all parts");
    open_tokenizer();
  }

  Generated run() {
    Embedder embedder(built_.embedding, options_.session);
    Decoder decoder(built_.text, built_.splits_prompts, options_.session);
    std::optional<run::Session> tower;
    if (has_files()) tower.emplace(*built_.tower, options_.session);
    const auto start = Clock::now();
    PreparedInputs fed = prompt();
    const std::vector<int64_t> ids = to_int64s(fed.arrays.at("input_ids"));
    require_known(ids, decoder.vocabulary());
    Generated made{.prompt_tokens = static_cast<int64_t>(ids.size())};
    for (const PreparedFile& file : fed.files) made.audio_seconds += file.seconds;
    const Arrays features = tower ? tower->run(fed_to(*tower, fed.arrays)) : Arrays{};
    tower.reset();
    RopePositions positions = rope_positions(ids, pictures_of(fed));
    GrowingText text([this](std::span<const int64_t> tokens) {
      return tokenizer_ ? tokenizer_->text({tokens.begin(), tokens.end()}) : std::string();
    });
    int64_t token = decoder.next(embedder.run(ids, features), positions);
    made.seconds_to_first_token = seconds_since(start);
    while (true) {
      made.has_ended = built_.end_tokens.contains(token);
      if (made.has_ended) break;
      made.tokens.push_back(token);
      const bool is_last = static_cast<int64_t>(made.tokens.size()) == options_.max_new_tokens;
      const std::string added = text.add(token, is_last);
      if (options_.progress) options_.progress(token, added);
      if (is_last) break;
      for (std::vector<int64_t>& axis : positions.axes) axis = {positions.next};
      ++positions.next;
      token = decoder.next(embedder.run({token}, {}), positions);
    }
    made.text = text.finish();
    made.seconds = seconds_since(start);
    return made;
  }

 private:
  void open_tokenizer() {
    try {
      tokenizer_ = std::make_unique<media::Tokenizer>(built_.checkpoint);
    } catch (const Error& error) {
      // Tokens in, tokens out: no text is needed.
      if (options_.tokens.empty() || error.code() != ErrorCode::kCannotRead) throw;
    }
    if (built_.tower) preset_ = media::preset_for(built_.checkpoint.string());
  }

  bool has_files() const { return !options_.files.empty() || !options_.clips.empty(); }
  bool is_image_model() const { return preset_ && preset_->takes_clips(); }

  PreparedInputs prompt() const {
    InputsOptions inputs{.preset = built_.checkpoint.string(),
                         .clips = options_.clips,
                         .frame_rate = options_.frame_rate,
                         .tokens = options_.tokens};
    if (inputs.tokens.empty()) {
      const std::string text = options_.text ? *options_.text : prompt_of_words();
      inputs.tokens = tokenizer_->ids(preset_ ? media::with_times(text, *preset_, inputs) : text);
    }
    if (inputs.tokens.empty()) refuse("the prompt has no tokens", "thaw run", "a text");
    if (!has_files()) return media::InputMaker(inputs).make({});
    return media::InputMaker(inputs, *ir::load(*built_.tower)).make(options_.files);
  }

  void require_known(const std::vector<int64_t>& ids, std::optional<int64_t> vocabulary) const {
    const auto unknown = std::ranges::find_if(ids, [&](int64_t id) { return vocabulary && id >= *vocabulary; });
    if (unknown != ids.end())
      refuse(fmt::format("the model has no token {}", *unknown),
             options_.tokens.empty() ? built_.checkpoint.string() : "--tokens",
             options_.tokens.empty() ? "the tokenizer of the checkpoint that was built"
                                     : fmt::format("0 to {}", *vocabulary - 1));
  }

  std::string prompt_of_words() const {
    const size_t files = options_.files.size();
    if (!preset_ || preset_->family != media::Family::kPhi4) {
      std::vector<std::string> kinds(files, preset_ && preset_->takes_audio() ? "audio" : "image");
      kinds.resize(files + options_.clips.size(), "video");
      return tokenizer_->prompt(options_.prompt, kinds);
    }
    // Its template takes words alone, and what stands for an image in them is this token.
    std::string words;
    for (size_t i = 0; i < files; ++i) words += "<|endoftext10|>";
    return tokenizer_->prompt(words + options_.prompt, {});
  }

  static Arrays fed_to(const run::Session& session, const Arrays& arrays) {
    Arrays fed;
    for (const auto& [name, array] : arrays)
      if (session.find_input(name) != nullptr) fed.emplace(name, array);
    return fed;
  }

  std::vector<Pictures> pictures_of(const PreparedInputs& fed) const {
    if (!is_image_model()) return {};
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
      if (preset_->steps_per_second > 0) grid.step = step_of_time();
      clips.grids.push_back(grid);
    }
    return {images, clips};
  }

  // From one group of frames to the next, in float32, as transformers multiplies it.
  float step_of_time() const {
    if (!options_.frame_rate)
      refuse("in the decoder's positions frames of a clip have times, and these are not known", "--frames",
             "--fps, the frames a second of the images given");
    const auto seconds = static_cast<float>(static_cast<double>(preset_->clips.temporal_patch) / *options_.frame_rate);
    return static_cast<float>(preset_->steps_per_second) * seconds;
  }

  const GenerateOptions& options_;
  const BuiltFolder built_;
  std::optional<media::Preset> preset_;
  std::unique_ptr<media::Tokenizer> tokenizer_;
};

}  // namespace

Generated generate(const std::filesystem::path& folder, const GenerateOptions& options) {
  return Generator(folder, options).run();
}

}  // namespace thaw::generating
