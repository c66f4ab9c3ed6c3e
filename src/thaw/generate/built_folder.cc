#include "thaw/generate/built_folder.h"

#include <system_error>

#include "thaw/core/error.h"
#include "thaw/model/special_tokens.h"

namespace thaw::generating {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

std::optional<fs::path> model_in(const fs::path& folder, const char* name) {
  const fs::path path = folder / name;
  return is_file(path) ? std::optional(path) : std::nullopt;
}

void add_end_tokens(const model::Config& config, std::set<int64_t>& tokens) {
  if (!config.has("eos_token_id")) return;
  for (const int64_t token : config.one_or_more_integers({"eos_token_id"})) tokens.insert(token);
}

// The decoder's fields stand at the top, in text_config, or there in thinker_config.
model::Config decoder_config(const model::Config& config) {
  return config.object_or_self("thinker_config").object_or_self("text_config");
}

}  // namespace

BuiltFolder open_built(const fs::path& folder, const fs::path& checkpoint) {
  const std::optional<fs::path> text = model_in(folder, "text.onnx");
  if (!text)
    throw Error(ErrorCode::kCannotRead, {.what = "there is no text.onnx",
                                         .where = folder.string(),
                                         .expected = "the models of a checkpoint",
                                         .next = "make them with `thaw build CHECKPOINT -o FOLDER --kv-cache`"});
  const fs::path source = checkpoint.empty() ? folder : checkpoint;
  if (!is_file(source / "config.json"))
    throw Error(ErrorCode::kCannotRead, {.what = "there is no config.json",
                                         .where = source.string(),
                                         .expected = "what belongs to the models beside them",
                                         .next = "name the checkpoint with --for"});
  BuiltFolder built{.checkpoint = source,
                    .tower = model_in(folder, "vision.onnx"),
                    .embedding = model_in(folder, "embedding.onnx"),
                    .text = *text,
                    .config = model::Config::open(source / "config.json"),
                    .end_tokens = {}};
  if (!built.tower) built.tower = model_in(folder, "audio.onnx");
  if (is_file(source / "generation_config.json"))
    add_end_tokens(model::Config::open(source / "generation_config.json"), built.end_tokens);
  if (built.end_tokens.empty()) add_end_tokens(built.config, built.end_tokens);
  if (built.end_tokens.empty()) add_end_tokens(decoder_config(built.config), built.end_tokens);
  if (const auto own = model::special_tokens(source).eos) built.end_tokens.insert(*own);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto rope = decoder_config(built.config).find_object(key))
      built.splits_prompts &= rope->text_or({"rope_type", "type"}, "") != "longrope";
  return built;
}

}  // namespace thaw::generating
