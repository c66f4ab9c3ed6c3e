#include "thaw/model/family/qwen3_asr_audio.h"

#include <cmath>

#include <fmt/format.h>

#include "thaw/model/nn/groups.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {
namespace {

using ir::DataType;

constexpr int kConvolutions = 3;
constexpr double kAudioNormEpsilon = 1e-5;  // torch.nn.LayerNorm's

int64_t half_up(int64_t n) { return (n + 1) / 2; }

struct EncoderConfig {
  int64_t layers, width, heads, inner, out;
  int64_t mel_bins, channels;
  int64_t chunk;   // frames of a chunk
  int64_t window;  // chunks that see each other
  std::string activation;

  int64_t chunk_tokens() const { return downsampled(chunk); }
  int64_t frequencies() const { return downsampled(mel_bins); }

 private:
  static int64_t downsampled(int64_t n) {
    for (int i = 0; i < kConvolutions; ++i) n = half_up(n);
    return n;
  }
};

EncoderConfig encoder_config(const Config& config) {
  constexpr int64_t kLongest =
      32768;  // half a chunk: 50 in the models that are known, and a row of positions for each 4
  EncoderConfig c{.layers = config.size({"encoder_layers", "num_hidden_layers"}),
                  .width = config.size({"d_model"}),
                  .heads = config.size({"encoder_attention_heads", "num_attention_heads"}),
                  .inner = config.size({"encoder_ffn_dim"}),
                  .out = config.size({"output_dim"}),
                  .mel_bins = config.size_or({"num_mel_bins"}, 128),
                  .channels = config.size({"downsample_hidden_size"}),
                  .chunk = 2 * config.size_or({"n_window"}, 50, kLongest),
                  .window = 0,
                  .activation = config.text_or({"activation_function"}, "gelu")};
  c.window = config.size_or({"n_window_infer"}, 800) / c.chunk;
  if (c.window < 1) config.fail("n_window_infer", "is shorter than a chunk", fmt::format("{} or more", c.chunk));
  if (c.width % c.heads != 0 || c.width % 2 != 0)
    config.fail("d_model", fmt::format("is {}", c.width), fmt::format("an even multiple of {} heads", c.heads));
  return c;
}

// Sines, then cosines, of a position at timescales from 1 to 10000 (Vaswani et al., 2017, section 3.5).
std::vector<float> sinusoids(int64_t positions, int64_t features) {
  const int64_t half = features / 2;
  const auto step = static_cast<float>(std::log(10000.0) / static_cast<double>(half - 1));
  std::vector<float> table(static_cast<size_t>(positions * features));
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p) * std::exp(-step * static_cast<float>(i));
      table[static_cast<size_t>(p * features + i)] = std::sin(angle);
      table[static_cast<size_t>(p * features + half + i)] = std::cos(angle);
    }
  }
  return table;
}

// input_features [batch, mel_bins, frames] -> [batch * chunks, 1, mel_bins, chunk]
Var split_into_chunks(Var features, const EncoderConfig& c) {
  Net& net = *features.net;
  const Here here(net, "chunks");
  Var frames = size_of(features, 2);
  const auto chunk = static_cast<double>(c.chunk);
  Var whole = (frames + (chunk - 1)) / chunk * chunk;
  Var padded = pad_end(features, 2, 3, whole - frames);
  // Frames first, so that the number of chunks is the one that is left open: a batch of no clips has none.
  Var chunks = reshape(transpose(padded, {0, 2, 1}), {-1, c.chunk, c.mel_bins});
  return unsqueeze(transpose(chunks, {0, 2, 1}), {1});
}

// [batch * chunks, 1, mel_bins, chunk] -> [batch * chunks * chunk_tokens, width]
Var embed_chunks(const Scope& tower, Var x, const EncoderConfig& c) {
  Net& net = tower.net();
  int64_t in = 1;
  for (const std::string_view layer : {"conv2d1", "conv2d2", "conv2d3"}) {
    const Scope at = tower.in(layer);
    const Here here(at);
    x = net.node("Conv", {x, at.var("weight", {c.channels, in, 3, 3}), at.var("bias", {c.channels})}, x.type,
                 {{"kernel_shape", std::vector<int64_t>{3, 3}},
                  {"strides", std::vector<int64_t>{2, 2}},
                  {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x = activate("gelu", x);
    in = c.channels;
  }
  const Here here(tower.in("conv_out"));
  const int64_t features = c.channels * c.frequencies();
  Var positions = reshape(transpose(x, {0, 3, 1, 2}), {0, 0, features});
  Var embedded = linear(tower.in("conv_out"), positions, features, c.width, Bias::kNo);
  Var table = net.floats({c.chunk_tokens(), c.width}, sinusoids(c.chunk_tokens(), c.width));
  return reshape(embedded + cast(table, net.dtype()), {-1, c.width});
}

// Where the tokens of the clips lie, and which see each other.
struct Tokens {
  Var row;         // int64 [num_tokens]: of the embedded chunks
  Groups windows;  // of tokens
};

Tokens locate_tokens(Var features, Var mask, const EncoderConfig& c) {
  Net& net = *mask.net;
  const Here here(net, "tokens");
  const auto chunk = static_cast<double>(c.chunk), per_chunk = static_cast<double>(c.chunk_tokens());
  const auto window_size = static_cast<double>(c.window * c.chunk_tokens());

  // Of each clip: tokens of its whole chunks, and of what is left.
  Var frames = reduce_sum(mask, {1});
  Var whole = frames / chunk;
  Var rest = frames - whole * chunk;
  for (int i = 0; i < kConvolutions; ++i) rest = (rest + 1.0) / 2.0;
  Var count = whole * per_chunk + rest;
  Var ends = cumulative_sum(count, 0), first = ends - count;
  Var window_count = (count + (window_size - 1)) / window_size;
  Var window_ends = cumulative_sum(window_count, 0), window_first = window_ends - window_count;

  Var token = arange(reduce_sum(count, {0}));
  Var clip = interval_of(token, ends);
  Var in_clip = token - gather(first, clip);
  Var chunks = (length_of(features, 2) + (chunk - 1)) / chunk;  // of each clip, padding included

  Var window = arange(reduce_sum(window_count, {0}));
  Var window_clip = interval_of(window, window_ends);
  Var begin = (window - gather(window_first, window_clip)) * window_size;  // in the clip
  // No more slots than the longest clip can fill.
  Var slots = minimum(reduce_max(count, {0}), net.integer(c.window * c.chunk_tokens()));
  Var position = unsqueeze(begin, {1}) + unsqueeze(arange(slots), {0});
  Var present = less(position, unsqueeze(gather(count, window_clip), {1}));
  Var row = where(present, unsqueeze(gather(first, window_clip), {1}) + position, net.integer(0));

  Var token_window = gather(window_first, clip) + in_clip / window_size;
  Var slot = in_clip - in_clip / window_size * window_size;
  return {clip * (chunks * per_chunk) + in_clip,
          make_groups(row, present, token_window * slots + slot, /*bounded=*/true)};
}

Var encoder_layer(const Scope& at, Var x, const Groups& windows, const EncoderConfig& c) {
  const Here here(at);
  const int64_t width = c.width;
  const Scope attention = at.in("self_attn");
  Var normed = layer_norm(at.in("self_attn_layer_norm"), x, width, kAudioNormEpsilon);
  Var qkv = concatenated_linear(attention, {{"q_proj", width}, {"k_proj", width}, {"v_proj", width}}, normed, width,
                                Bias::kYes, "qkv_proj");
  const std::vector<Var> parts = split(qkv, -1, {width, width, width});
  Var attended = attend_in_groups(parts[0], parts[1], parts[2], windows, c.heads, width / c.heads);
  x = x + linear(attention.in("out_proj"), attended, width, width);
  return x + mlp(at, "fc1", "fc2", layer_norm(at.in("final_layer_norm"), x, width, kAudioNormEpsilon), width, c.inner,
                 width, c.activation);
}

}  // namespace

std::unique_ptr<ir::Model> build_qwen3_asr_audio(const BuildContext& context) {
  const Config config = context.config().object_or_self("thinker_config").object("audio_config");
  const EncoderConfig c = encoder_config(config);

  Net net(context.options);
  Var features = net.input("input_features", DataType::kFloat, {"batch", c.mel_bins, "frames"});
  Var mask = net.input("input_features_mask", DataType::kInt64, {"batch", "frames"});
  const Scope model(net, context.weights, "model");
  const Scope tower = model.in("audio_tower");

  const Tokens tokens = locate_tokens(features, mask, c);
  Var chunks = split_into_chunks(cast(features, net.dtype()), c);
  Var x = gather(embed_chunks(tower, chunks, c), tokens.row);
  for (int64_t i = 0; i < c.layers; ++i) x = encoder_layer(tower.in("layers").in(i), x, tokens.windows, c);
  x = layer_norm(tower.in("ln_post"), x, c.width, kAudioNormEpsilon);
  const Scope projector = model.in("multi_modal_projector");
  x = linear(projector.in("linear_1"), x, c.width, c.width);
  x = linear(projector.in("linear_2"), activate(c.activation, x), c.width, c.out);
  net.output(x, "audio_features", {"num_tokens", c.out});
  return net.finish();
}

}  // namespace thaw::model
