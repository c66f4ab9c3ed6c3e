#include "thaw/generate/generate.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/decoder.h"
#include "thaw/generate/embedder.h"
#include "thaw/generate/growing_text.h"
#include "thaw/generate/rope_positions.h"
#include "thaw/ir/graph/model.h"
#include "thaw/media/input_maker.h"
#include "thaw/media/preset.h"
#include "thaw/media/text/tokenizer.h"

namespace thaw::generating {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void refuse(std::string what, std::string where, std::string expected) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what), .where = std::move(where), .expected = std::move(expected)});
}

class Generator {
 public:
  Generator(const std::filesystem::path& folder, const GenerateOptions& options)
      : options_(options), built_(open_built(folder, options.checkpoint)) {
    const int given = !options.prompt.empty() + options.text.has_value() + !options.tokens.empty();
    if (given != 1)
      refuse("the prompt is not given, or more than once", "thaw run", "one of --prompt, --text and --tokens");
    if (options.max_new_tokens < 1) refuse("no token is to be made", "--max-new-tokens", "1 or more");
    if (!options.files.empty() && !(built_.tower && built_.embedding))
      refuse("there is no tower for files in the folder", folder.string(),
             "vision.onnx or audio.onnx, and embedding.onnx, as `thaw build --kv-cache` writes all parts");
    open_tokenizer();
  }

  Generated run() {
    Embedder embedder(built_.embedding, options_.session);
    Decoder decoder(built_.text, built_.splits_prompts, options_.session);
    std::optional<run::Session> tower;
    if (!options_.files.empty()) tower.emplace(*built_.tower, options_.session);
    const auto start = Clock::now();
    PreparedInputs fed = prompt();
    const std::vector<int64_t> ids = to_int64s(fed.arrays.at("input_ids"));
    Generated made{.prompt_tokens = static_cast<int64_t>(ids.size())};
    for (const PreparedFile& file : fed.files) made.recorded_seconds += file.seconds;
    const Arrays features = tower ? tower->run(fed_to(*tower, fed.arrays)) : Arrays{};
    tower.reset();
    RopePositions positions = rope_positions(ids, is_image_model() ? preset_->image_token : -1, grids_of(fed));
    GrowingText text([this](std::span<const int64_t> tokens) {
      return tokenizer_ ? tokenizer_->text({tokens.begin(), tokens.end()}) : std::string();
    });
    int64_t token = decoder.next(embedder.run(ids, features), positions);
    made.seconds_to_first = seconds_since(start);
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

  bool is_image_model() const { return preset_ && preset_->takes_clips(); }

  PreparedInputs prompt() const {
    InputsOptions inputs{.preset = built_.checkpoint.string(), .tokens = options_.tokens};
    if (inputs.tokens.empty()) inputs.tokens = tokenizer_->ids(options_.text ? *options_.text : prompt_of_words());
    if (inputs.tokens.empty()) refuse("the prompt has no tokens", "thaw run", "a text");
    if (options_.files.empty()) return media::InputMaker(inputs).make({});
    return media::InputMaker(inputs, *ir::load(*built_.tower)).make(options_.files);
  }

  std::string prompt_of_words() const {
    const size_t files = options_.files.size();
    if (!preset_ || preset_->family != media::Family::kPhi4)
      return tokenizer_->prompt(options_.prompt, preset_ && preset_->takes_audio() ? "audio" : "image", files);
    // Its template takes words alone, and what stands for an image in them is this token.
    std::string words;
    for (size_t i = 0; i < files; ++i) words += "<|endoftext10|>";
    return tokenizer_->prompt(words + options_.prompt, "", 0);
  }

  static Arrays fed_to(const run::Session& session, const Arrays& arrays) {
    Arrays fed;
    for (const auto& [name, array] : arrays)
      if (session.find_input(name) != nullptr) fed.emplace(name, array);
    return fed;
  }

  std::vector<TokenGrid> grids_of(const PreparedInputs& fed) const {
    std::vector<TokenGrid> grids;
    if (!is_image_model()) return grids;
    const int64_t side = preset_->images.factor();
    for (const PreparedFile& file : fed.files) grids.push_back({file.to.height / side, file.to.width / side});
    return grids;
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
