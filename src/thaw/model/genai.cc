#include "thaw/model/genai.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/model/family/decoder_config.h"
#include "thaw/model/family/embedding.h"
#include "thaw/model/family/text_head.h"
#include "thaw/model/special_tokens.h"

namespace thaw::model {
namespace {

using Json = nlohmann::ordered_json;

// How onnxruntime-genai calls a model: its decoder alone, and all of it ("": it does not run that).
struct Kind {
  std::string_view model_type, decoder, whole;
};

constexpr std::array kKinds{
    Kind{"qwen2", "qwen2", ""},
    Kind{"qwen3", "qwen3", ""},
    Kind{"llama", "llama", ""},
    Kind{"mistral", "mistral", ""},
    Kind{"phi3", "phi3", ""},
    Kind{"phi4mm", "phi3", ""},
    Kind{"phi4_multimodal", "phi3", ""},
    Kind{"qwen2_vl", "qwen2", "qwen2_5_vl"},
    Kind{"qwen2_5_vl", "qwen2", "qwen2_5_vl"},
    Kind{"qwen3_vl", "qwen3", "qwen3_vl"},
    Kind{"qwen3_asr", "qwen3", ""},
};

bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

std::string_view kind_of(const Config& config, const BuildOptions& options) {
  const std::string type = config.text({"model_type"});
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.model_type == type; });
  const std::string_view name = kind == kKinds.end()       ? std::string_view()
                                : options.takes_embeddings ? kind->whole
                                                           : kind->decoder;
  if (!name.empty()) return name;
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("onnxruntime-genai does not run all parts of a model of the type '{}'", type),
               .where = "--genai",
               .expected = "the decoder alone",
               .next = "give --part text"});
}

std::optional<Config> open_if_there(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? std::optional(Config::open(path)) : std::nullopt;
}

// The first of these configs that has the key: what generation_config.json says counts before config.json.
class Sources {
 public:
  explicit Sources(const Checkpoint& checkpoint) {
    if (auto generation = open_if_there(checkpoint.folder() / "generation_config.json")) all_.push_back(*generation);
    const Config& whole = checkpoint.config();
    all_.insert(all_.end(), {whole, outer_config(whole), text_config(whole)});
  }
  const Config* with(std::string_view key) const {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Config& c) { return c.has(key); });
    return found == all_.end() ? nullptr : &*found;
  }
  const Config& last() const { return all_.back(); }

 private:
  std::vector<Config> all_;
};

// Those of the configs, which may be several, and the tokenizer's own: whichever comes ends the text.
std::vector<int64_t> end_tokens_of(const Sources& sources, const SpecialTokens& own) {
  const Config* ends = sources.with("eos_token_id");
  if (!ends && !own.eos) {
    sources.last().fail("eos_token_id", "is missing",
                        "the token or tokens that end a text, in config.json, generation_config.json or "
                        "tokenizer_config.json");
  }
  std::vector<int64_t> tokens = ends ? ends->one_or_more_integers({"eos_token_id"}) : std::vector<int64_t>();
  if (own.eos && std::ranges::find(tokens, *own.eos) == tokens.end()) tokens.insert(tokens.begin(), *own.eos);
  if (tokens.empty()) ends->fail("eos_token_id", "is empty", "one token or more");
  return tokens;
}

// By targets, as onnxruntime-genai 0.18 names those that need no options; null: its own, the CPU.
constexpr std::pair<std::string_view, const char*> kProviders[] = {
    {"cpu", nullptr}, {"cuda", "cuda"}, {"webgpu", "WebGPU"}};

Json session_options(const BuildOptions& options) {
  Json providers = Json::array();
  if (options.target == BuildTarget::kDirectMl) providers.push_back({{"dml", Json::object()}});
  for (const auto& [target, provider] : kProviders)
    if (provider && options.backend == target) providers.push_back({{provider, Json::object()}});
  return {{"log_id", "onnxruntime-genai"}, {"provider_options", providers}};
}

Json decoder_section(const DecoderConfig& c, const BuildOptions& options, int64_t width) {
  const char* tokens = options.takes_embeddings ? "inputs_embeds" : "input_ids";
  return {
      {"session_options", session_options(options)},
      {"filename", "text.onnx"},
      {"head_size", c.attention.head_dim},
      {"hidden_size", width},
      {"inputs",
       {{tokens, tokens},
        {"attention_mask", "attention_mask"},
        {"position_ids", "position_ids"},
        {"past_key_names", "past_key_values.%d.key"},
        {"past_value_names", "past_key_values.%d.value"}}},
      {"outputs",
       {{"logits", "logits"}, {"present_key_names", "present.%d.key"}, {"present_value_names", "present.%d.value"}}},
      {"num_attention_heads", c.attention.heads},
      {"num_hidden_layers", c.layers},
      {"num_key_value_heads", c.attention.kv_heads}};
}

void add_vision(Json& model, const Config& config, const BuildOptions& options) {
  const Config vision = config.object("vision_config");
  model["image_token_id"] = config.integer({"image_token_id"});
  model["video_token_id"] = config.integer({"video_token_id"});
  model["vision_start_token_id"] = config.integer({"vision_start_token_id"});
  model["embedding"] = {{"session_options", session_options(options)},
                        {"filename", "embedding.onnx"},
                        {"inputs", {{"input_ids", "input_ids"}, {"image_features", "image_features"}}},
                        {"outputs", {{"inputs_embeds", "inputs_embeds"}}}};
  model["vision"] = {{"session_options", session_options(options)},
                     {"filename", "vision.onnx"},
                     {"config_filename", "processor_config.json"},
                     {"spatial_merge_size", vision.size_or({"spatial_merge_size"}, 2)},
                     {"tokens_per_second", vision.number_or({"tokens_per_second"}, 2)},
                     {"patch_size", vision.size_or({"patch_size", "spatial_patch_size"}, 14)},
                     {"inputs", {{"pixel_values", "pixel_values"}, {"image_grid_thw", "image_grid_thw"}}},
                     {"outputs", {{"image_features", "image_features"}}}};
}

Json search_section(const Sources& sources, int64_t context) {
  const auto number = [&](std::string_view key, double otherwise) {
    const Config* from = sources.with(key);
    return from ? from->number({key}) : otherwise;
  };
  const Config* sampling = sources.with("do_sample");
  const Config* top_k = sources.with("top_k");
  return {{"do_sample", sampling && sampling->boolean_or({"do_sample"}, false)},
          {"max_length", context},
          {"min_length", 0},
          {"num_beams", 1},
          {"past_present_share_buffer", false},  // the models append to the cache
          {"repetition_penalty", number("repetition_penalty", 1)},
          {"temperature", number("temperature", 1)},
          {"top_k", top_k ? top_k->integer({"top_k"}) : 50},
          {"top_p", number("top_p", 1)}};
}

Json step(const char* name, const char* type, Json attributes) {
  Json operation{{"name", name}, {"type", type}};
  if (!attributes.empty()) operation["attrs"] = std::move(attributes);
  return {{"operation", std::move(operation)}};
}

// The steps from an image file to patches, as onnxruntime-extensions runs them.
Json image_processor(const Checkpoint& checkpoint, std::string_view kind) {
  const Config vision = checkpoint.config().object("vision_config");
  const Config own = open_if_there(checkpoint.folder() / "preprocessor_config.json").value_or(vision);
  const int64_t patch = vision.size_or({"patch_size", "spatial_patch_size"}, 14);
  const int64_t merge = vision.size_or({"spatial_merge_size"}, 2);
  const bool is_qwen3 = kind == "qwen3_vl";
  const auto size = own.find_object("size");
  const auto pixels = [&](std::string_view key, std::string_view edge, int64_t otherwise) {
    if (own.has(key)) return own.size({key});
    return size ? size->size_or({edge, key}, otherwise) : otherwise;
  };
  // Three numbers that a checkpoint may give for its colours.
  const auto colours = [&](std::string_view key, const std::vector<double>& otherwise) {
    return own.has(key) ? own.numbers({key}) : otherwise;
  };
  using Three = std::vector<double>;
  const Three mean = is_qwen3 ? Three{0.5, 0.5, 0.5} : Three{0.48145466, 0.4578275, 0.40821073};
  const Three deviation = is_qwen3 ? Three{0.5, 0.5, 0.5} : Three{0.26862954, 0.26130258, 0.27577711};
  Json steps = Json::array();
  steps.push_back(step("decode_image", "DecodeImage", {{"color_space", "RGB"}}));
  steps.push_back(step("convert_to_rgb", "ConvertRGB", {}));
  steps.push_back(step("resize", "Resize",
                       {{"width", 540},
                        {"height", 360},
                        {"smart_resize", 1},  // to multiples of patch * merge between these numbers of pixels
                        {"min_pixels", pixels("min_pixels", "shortest_edge", 3136)},
                        {"max_pixels", pixels("max_pixels", "longest_edge", 12845056)},
                        {"patch_size", patch},
                        {"merge_size", merge}}));
  steps.push_back(step("rescale", "Rescale", {{"rescale_factor", own.number_or({"rescale_factor"}, 1.0 / 255)}}));
  steps.push_back(step("normalize", "Normalize",
                       {{"mean", colours("image_mean", mean)},
                        {"std", colours("image_std", deviation)},
                        {is_qwen3 ? "qwen3_vl" : "qwen2_5_vl", 1}}));
  steps.push_back(step("patch_image", "PatchImage",
                       {{"patch_size", patch},
                        {"temporal_patch_size", vision.size_or({"temporal_patch_size"}, 2)},
                        {"merge_size", merge}}));
  return {{"processor",
           {{"name", is_qwen3 ? "qwen3_vl_image_processor" : "qwen2_5_image_processor"},
            {"transforms", std::move(steps)}}}};
}

std::string as_text(const Json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void check_genai(const Config& config, const BuildOptions& options) {
  if (!options.backend.empty() &&
      std::ranges::find(kProviders, options.backend, [](const auto& one) { return one.first; }) == std::end(kProviders))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("which provider onnxruntime-genai runs for '{}' is not known", options.backend),
                 .where = "--genai",
                 .expected = "the target portable, ort, directml, cpu, cuda or webgpu",
                 .next = "build for one of these, or leave --genai out"});
  static_cast<void>(kind_of(config, options));
  if (text_head(config, options) == TextHead::kLogits) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "onnxruntime-genai goes on with texts, and the model outputs no logits for that",
               .where = "--genai",
               .expected = "a model of the architecture …ForCausalLM",
               .next = "leave the option out"});
}

std::vector<TextFile> genai_files(const Checkpoint& checkpoint, const BuildOptions& options) {
  const Config& config = checkpoint.config();
  const std::string_view kind = kind_of(config, options);
  const DecoderConfig c = read_decoder_config(checkpoint);
  const Sources sources(checkpoint);
  const int64_t context = text_config(config).size_or({"max_position_embeddings"}, 4096);
  const int64_t width = c.hidden * (options.takes_embeddings ? 1 + num_deepstack(config, c.layers) : 1);

  const SpecialTokens own = special_tokens(checkpoint.folder());
  const std::vector<int64_t> end_tokens = end_tokens_of(sources, own);
  const auto token = [&](std::string_view key, std::optional<int64_t> named, int64_t otherwise) {
    if (named) return *named;
    const Config* from = sources.with(key);
    const auto all = from ? from->one_or_more_integers({key}) : std::vector<int64_t>();
    return all.empty() ? otherwise : all.front();
  };
  Json model;
  model["type"] = kind;
  model["bos_token_id"] = token("bos_token_id", own.bos, end_tokens.front());
  model["eos_token_id"] = end_tokens;
  model["pad_token_id"] = token("pad_token_id", own.pad, end_tokens.front());
  model["context_length"] = context;
  model["vocab_size"] = c.vocabulary;
  model["decoder"] = decoder_section(c, options, width);
  std::vector<TextFile> files;
  if (options.takes_embeddings) {
    add_vision(model, config, options);
    files.push_back({"processor_config.json", as_text(image_processor(checkpoint, kind))});
  }
  const Json whole{{"model", model}, {"search", search_section(sources, context)}};
  files.push_back({"genai_config.json", as_text(whole)});
  return files;
}

std::vector<TokenizerFile> tokenizer_files(const std::filesystem::path& checkpoint, bool settings) {
  const std::filesystem::path folder = std::filesystem::canonical(checkpoint);
  std::vector<std::filesystem::path> own{folder};
  for (std::filesystem::path at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.filename() == "snapshots") own.push_back(at.parent_path() / "blobs");
  std::vector<TokenizerFile> there;
  std::vector<const char*> names{
      "tokenizer.json",    "tokenizer_config.json",   "tokenizer.model",     "vocab.json",        "merges.txt",
      "added_tokens.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json"};
  if (settings)
    names.insert(names.end(), {"config.json", "generation_config.json", "preprocessor_config.json",
                               "processor_config.json", "video_preprocessor_config.json"});
  for (const char* name : names) {
    if (!std::filesystem::is_regular_file(folder / name)) continue;
    std::filesystem::path path = std::filesystem::canonical(folder / name);
    if (!std::ranges::any_of(own, [&](const auto& location) { return is_below(path, location); })) {
      throw Error(
          ErrorCode::kInvalidFile,
          {.what = fmt::format("is a link to {}, outside of the checkpoint, and would be copied", path.string()),
           .where = (checkpoint / name).string(),
           .expected = "a file of the checkpoint's folder, or a link within it or into its hub cache's blobs",
           .next = "put the file itself there if it belongs to the checkpoint"});
    }
    there.push_back({name, std::move(path)});
  }
  return there;
}

}  // namespace thaw::model
