#include "thaw/model/family/decoder_config.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"

namespace thaw::model {
namespace {

constexpr std::string_view kSliding = "sliding_attention", kFull = "full_attention";

// How the families differ. Defaults are what transformers takes where a config leaves the key out.
struct Traits {
  std::vector<std::string_view> model_types;
  std::string_view prefix = "model";
  enum class Windows : uint8_t { kNone, kAllLayers, kUpperLayers } windows = Windows::kNone;
  bool qkv_bias = false;        // always
  bool bias_by_config = false;  // attention_bias, mlp_bias
  bool norms_heads = false;
  bool fused = false;
  int64_t head_dim = 0;  // 0: hidden_size / num_attention_heads
  double epsilon = 1e-6;
  RopeDefaults rope = {};
};

const std::vector<Traits>& all_traits() {
  using enum Traits::Windows;
  static const std::vector<Traits> all{
      {.model_types = {"qwen2"}, .windows = kUpperLayers, .qkv_bias = true},
      {.model_types = {"qwen2_vl", "qwen2_5_vl"},
       .windows = kUpperLayers,
       .qkv_bias = true,
       .epsilon = 1e-5,
       .rope = {.theta = 1e6, .sections = {16, 24, 24}}},
      {.model_types = {"qwen3"}, .windows = kUpperLayers, .bias_by_config = true, .norms_heads = true, .head_dim = 128},
      {.model_types = {"qwen3_asr"},
       .prefix = "model.language_model",
       .windows = kUpperLayers,
       .bias_by_config = true,
       .norms_heads = true,
       .head_dim = 128},
      {.model_types = {"qwen3_vl"},
       .prefix = "model.language_model",
       .bias_by_config = true,
       .norms_heads = true,
       .head_dim = 128,
       .rope = {.theta = 5e5, .sections = {24, 20, 20}, .interleaved = true}},
      {.model_types = {"phi3", "phi4mm", "phi4_multimodal"},
       .windows = kAllLayers,
       .fused = true,
       .epsilon = 1e-5,
       .rope = {.is_partial = true, .longrope_only = true}},
      {.model_types = {"llama"}, .bias_by_config = true},
      {.model_types = {"mistral"}, .windows = kAllLayers},
  };
  return all;
}

const Traits& traits_of(const std::string& type) {
  for (const Traits& traits : all_traits()) {
    if (std::find(traits.model_types.begin(), traits.model_types.end(), type) != traits.model_types.end())
      return traits;
  }
  throw std::logic_error("no decoder is known for " + type);
}

std::vector<int64_t> windows_of(const Config& text, Traits::Windows kind, int64_t layers) {
  std::vector<int64_t> windows(static_cast<size_t>(layers), 0);
  const bool is_on = kind == Traits::Windows::kAllLayers ||
                     (kind == Traits::Windows::kUpperLayers && text.boolean_or({"use_sliding_window"}, false));
  if (!is_on || !text.has("sliding_window")) return windows;
  const int64_t window = text.size({"sliding_window"});
  const int64_t lowest = kind == Traits::Windows::kUpperLayers ? text.integer_or({"max_window_layers"}, layers) : 0;
  const std::vector<std::string> types = text.texts_or({"layer_types"}, {});
  if (kind == Traits::Windows::kUpperLayers && !types.empty() && types.size() != windows.size()) {
    text.fail("layer_types", fmt::format("names {} layers", types.size()), fmt::format("{}", layers));
  }
  for (int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<size_t>(i);
    bool slides = i >= lowest;
    if (kind == Traits::Windows::kUpperLayers && !types.empty()) {
      if (types[at] != kSliding && types[at] != kFull)
        text.fail("layer_types", fmt::format("has a layer of '{}'", types[at]), fmt::format("{}, {}", kFull, kSliding));
      slides = types[at] == kSliding;
    }
    if (slides) windows[at] = window;
  }
  return windows;
}

// Before anything is made as long as the config says: each layer has to be there.
void require_layers(const Checkpoint& checkpoint, const Config& text, const Traits& traits) {
  const int64_t layers = text.size({"num_hidden_layers"}), hidden = text.size({"hidden_size"});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("{}.layers.{}.input_layernorm.weight", traits.prefix, i);
    static_cast<void>(checkpoint.get(name, {hidden}));
  }
}

// A config that ties the head is wrong where the head has weights of its own, and transformers goes by those.
bool is_untied_by_weights(const Checkpoint& checkpoint, const DecoderConfig& c) {
  constexpr std::string_view kHead = "lm_head.weight";
  if (!checkpoint.has(kHead)) return false;
  const std::vector<int64_t> shape{c.vocabulary, c.hidden};
  const ir::Tensor head = checkpoint.get(kHead, shape),
                   table = checkpoint.get(c.prefix + ".embed_tokens.weight", shape);
  return head.data_type != table.data_type || !same_bytes(head.bytes(), table.bytes());
}

// Custom code of embedders makes a decoder's tokens see what follows them, and says so in its config.
void require_causal(const Config& text) {
  for (const auto& [key, causal] : {std::pair{"is_causal", true}, std::pair{"use_bidirectional_attention", false}}) {
    if (text.boolean_or({key}, causal) == causal) continue;
    text.fail(key, causal ? "is false: tokens see what follows them" : "is true: tokens see what follows them",
              "tokens that see those before them alone");
  }
}

}  // namespace

Config outer_config(const Config& config) { return config.object_or_self("thinker_config"); }

Config text_config(const Config& config) { return outer_config(config).object_or_self("text_config"); }

DecoderConfig read_decoder_config(const Checkpoint& checkpoint) {
  const Config& whole = checkpoint.config();
  const Config outer = outer_config(whole), text = text_config(whole);
  const Traits& traits = traits_of(whole.text({"model_type"}));
  require_causal(text);
  require_layers(checkpoint, text, traits);

  DecoderConfig c{.layers = text.size({"num_hidden_layers"}),
                  .hidden = text.size({"hidden_size"}),
                  .inner = text.size({"intermediate_size"}),
                  .vocabulary = text.size({"vocab_size"}),
                  .attention = {},
                  .norm_epsilon = text.number_or({"rms_norm_eps"}, traits.epsilon),
                  .activation = text.text_or({"hidden_act"}, "silu"),
                  .windows = {},
                  .rope = {},
                  .tied = false,
                  .prefix = std::string(traits.prefix)};
  AttentionSizes& a = c.attention;
  a.heads = text.size({"num_attention_heads"});
  a.kv_heads = text.size_or({"num_key_value_heads"}, a.heads);
  if (a.heads % a.kv_heads != 0) {
    text.fail("num_key_value_heads", fmt::format("is {}", a.kv_heads),
              fmt::format("a divisor of the {} attention heads", a.heads));
  }
  const int64_t by_width = traits.head_dim != 0 ? traits.head_dim : c.hidden / a.heads;
  a.head_dim = text.size_or({"head_dim"}, by_width);
  if (!text.has("head_dim") && traits.head_dim == 0 && c.hidden % a.heads != 0) {
    text.fail("num_attention_heads", fmt::format("is {}", a.heads),
              fmt::format("a divisor of hidden_size, {}", c.hidden));
  }
  constexpr int64_t kWidest = int64_t{1} << 24;  // of all heads together: far above any model
  if (a.heads > kWidest || a.head_dim > kWidest / a.heads)
    text.fail("head_dim", fmt::format("is {} for {} heads", a.head_dim, a.heads), "heads that models have");
  c.windows = windows_of(text, traits.windows, c.layers);
  c.rope = read_rope(text, a.head_dim, traits.rope);
  c.qkv_bias = traits.qkv_bias || (traits.bias_by_config && text.boolean_or({"attention_bias"}, false));
  c.out_bias = traits.bias_by_config && text.boolean_or({"attention_bias"}, false);
  c.mlp_bias = traits.bias_by_config && text.boolean_or({"mlp_bias"}, false);
  c.norms_heads = traits.norms_heads;
  c.fused = traits.fused;
  // transformers 5 keeps the key in the outer object, earlier versions in the text model's, and checkpoints whose
  // config is silent leave the head's weights out where they are tied.
  constexpr std::string_view kTied = "tie_word_embeddings";
  const bool is_silent = !whole.has(kTied) && !outer.has(kTied) && !text.has(kTied);
  c.tied = is_silent ? !checkpoint.has("lm_head.weight")
                     : whole.boolean_or({kTied}, false) || outer.boolean_or({kTied}, false) ||
                           text.boolean_or({kTied}, false);
  if (c.tied && is_untied_by_weights(checkpoint, c)) c.tied = false;
  return c;
}

}  // namespace thaw::model
