#include "thaw/generate/generate.h"

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/greedy.h"
#include "thaw/generate/growing_text.h"
#include "thaw/generate/prompt.h"

namespace thaw::generating {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Generated generate(const std::filesystem::path& folder, const GenerateOptions& options) {
  const BuiltFolder built = open_built(folder, options.checkpoint);
  if (options.max_new_tokens < 1)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "no token is to be made", .where = "--max-new-tokens", .expected = "1 or more"});
  PromptMaker maker(built);
  GreedyDecoding decoding(built, options.session, !options.files.empty() || !options.clips.empty());
  const auto start = Clock::now();
  const Prompt prompt = maker.make(options);
  Generated made{.prompt_tokens = static_cast<int64_t>(prompt.ids.size())};
  made.audio_seconds = prompt.audio_seconds;
  GrowingText text(
      [&](std::span<const int64_t> tokens) { return maker.text(std::vector(tokens.begin(), tokens.end())); });
  int64_t token = decoding.first(prompt);
  made.seconds_to_first_token = seconds_since(start);
  while (true) {
    made.has_ended = decoding.is_end(token);
    if (made.has_ended) break;
    made.tokens.push_back(token);
    const bool is_last = static_cast<int64_t>(made.tokens.size()) == options.max_new_tokens;
    const std::string added = text.add(token, is_last);
    if (options.progress) options.progress(token, added);
    if (is_last) break;
    token = decoding.next(token);
  }
  made.text = text.finish();
  made.seconds = seconds_since(start);
  return made;
}

}  // namespace thaw::generating
