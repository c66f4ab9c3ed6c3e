#include "thaw/model/family/embedding.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/model/family/decoder_config.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {

using ir::DataType;

namespace {

struct Embedding {
  Net net;
  DecoderConfig config;
  Var ids, embeds;

  explicit Embedding(const BuildContext& context)
      : net(context.options), config(read_decoder_config(context.checkpoint)) {
    ids = net.input("input_ids", DataType::kInt64, {"batch", "seq"});
    const Scope text(net, context.weights, config.prefix);
    embeds = embedding(text.in("embed_tokens"), ids, config.vocabulary, config.hidden);
  }

  Var features(const std::string& name, const std::string& count) {
    return net.input(name, net.dtype(), {count, config.hidden});
  }

  // bool [batch, seq]: whether a token is one of these.
  Var is_one_of(const std::vector<int64_t>& tokens) {
    Var found;
    for (const int64_t token : tokens) {
      Var same = equal(ids, net.integer(token));
      found = found ? logical_or(found, same) : same;
    }
    return found;
  }

  // int64 [batch, seq]: 1, 2, … for the tokens in the order of rows, 0 for the others.
  Var numbered(Var is_special) {
    Var count = cumulative_sum(reshape(cast(is_special, DataType::kInt64), {-1}), 0);
    return where(is_special, reshape(count, shape_of(is_special)), net.integer(0));
  }

  // [batch, seq, hidden]: feature n - 1 where a token has the number n, zeros where it has 0.
  Var spread(Var features, Var number) {
    Var nothing = zeros(net.integers({1, config.hidden}), features.type);
    return gather(concat({nothing, features}, 0), number);
  }

  // Without a feature no token is special: a decoder may well produce such a token itself.
  Var where_given(Var is_special, Var features) {
    return logical_and(is_special, less(net.integer(0), length_of(features, 0)));
  }

  void put(Var is_special, Var features) {
    const Here here(net, "features");
    is_special = where_given(is_special, features);
    embeds = where(unsqueeze(is_special, {2}), spread(features, numbered(is_special)), embeds);
  }

  std::unique_ptr<ir::Model> finish() {
    net.output(embeds, "inputs_embeds", {"batch", "seq", config.hidden});
    return net.finish();
  }
};

}  // namespace

std::vector<int64_t> deepstack_layers(const Config& config) {
  if (config.text({"model_type"}) != "qwen3_vl") return {};
  const auto vision = outer_config(config).find_object("vision_config");
  if (!vision) return {};
  return vision->integers_or({"deepstack_visual_indexes"}, {8, 16, 24});  // as transformers where the config is silent
}

int64_t num_deepstack(const Config& config, int64_t layers) {
  return std::min(static_cast<int64_t>(deepstack_layers(config).size()), layers);
}

std::unique_ptr<ir::Model> build_qwen_vl_embedding(const BuildContext& context) {
  const Config& config = context.config();
  Embedding e(context);
  const int64_t hidden = e.config.hidden, deepstack = num_deepstack(config, e.config.layers);
  Var is_visual = e.is_one_of({config.integer({"image_token_id"}), config.integer({"video_token_id"})});
  std::vector<Var> features;  // of the last layer first
  if (e.net.options().genai) {
    const auto given = static_cast<int64_t>(deepstack_layers(config).size());
    Var concatenated = e.net.input("image_features", e.net.dtype(), {"num_tokens", hidden * (1 + given)});
    if (deepstack < given) concatenated = slice(concatenated, 1, 0, hidden * (1 + deepstack));
    features = deepstack > 0 ? split(concatenated, 1, std::vector(static_cast<size_t>(1 + deepstack), hidden))
                             : std::vector{concatenated};
  } else {
    features.push_back(e.features("vision_features", "num_tokens"));
    for (int64_t k = 0; k < deepstack; ++k)
      features.push_back(e.features(fmt::format("deepstack_features_{}", k), "num_tokens"));
  }
  e.put(is_visual, features.front());
  std::vector<Var> out{e.embeds};
  {
    const Here here(e.net, "deepstack");
    for (size_t k = 1; k < features.size(); ++k)
      out.push_back(e.spread(features[k], e.numbered(e.where_given(is_visual, features[k]))));
  }
  if (e.net.options().genai) out = {concat(out, 2)};
  const int64_t width = e.net.options().genai ? hidden * (1 + deepstack) : hidden;
  for (size_t k = 0; k < out.size(); ++k)
    e.net.output(out[k], k == 0 ? "inputs_embeds" : fmt::format("deepstack_embeds_{}", k - 1), {"batch", "seq", width});
  return e.net.finish();
}

std::unique_ptr<ir::Model> build_qwen3_asr_embedding(const BuildContext& context) {
  Embedding e(context);
  Var is_audio = e.is_one_of({outer_config(context.config()).integer({"audio_token_id"})});
  e.put(is_audio, e.features("audio_features", "num_tokens"));
  return e.finish();
}

std::unique_ptr<ir::Model> build_phi4_embedding(const BuildContext& context) {
  constexpr int64_t kImageToken = 200010, kAudioToken = 200011;  // the hub's config does not say
  const Config& config = context.config();
  const auto token = [&](std::string_view part, std::string_view key, int64_t otherwise) {
    const auto object = config.find_object(part);
    return object && object->has(key) ? object->integer({key}) : otherwise;
  };
  Embedding e(context);
  Var is_image = e.is_one_of({token("vision_config", "image_token_id", kImageToken)});
  Var is_audio = e.is_one_of({token("audio_config", "audio_token_id", kAudioToken)});
  Var image = e.features("image_features", "num_image_tokens");
  Var audio = e.net.optional_rows("audio_features", e.net.dtype(), "num_audio_tokens", e.config.hidden);
  e.put(is_image, image);
  e.put(is_audio, audio);
  return e.finish();
}

}  // namespace thaw::model
