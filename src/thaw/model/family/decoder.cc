#include "thaw/model/family/decoder.h"

#include <fmt/format.h>

#include "thaw/model/family/decoder_config.h"
#include "thaw/model/family/embedding.h"
#include "thaw/model/family/text_head.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {

using ir::DataType;

namespace {

// The inputs, in the order that they are declared.
struct Inputs {
  Var ids;     // int64 [batch, seq]; none where the model takes embeddings
  Var hidden;  // [batch, seq, hidden]
  Var seq;     // int64 scalar
  Var attention_mask, position_ids;
  std::vector<Cache> past;
  std::vector<Var> deepstack;
};

// Whether position_ids have three coordinates. Those of text alone are equal, and onnxruntime-genai passes one then.
bool by_axis(const BuildOptions& options, const DecoderConfig& c) {
  return options.kv_cache && c.rope.has_axes() && (options.takes_embeddings || !options.genai);
}

Inputs declare_inputs(Net& net, const Scope& scope, const DecoderConfig& c, int64_t deepstack) {
  const BuildOptions& options = net.options();
  Inputs in;
  if (options.takes_embeddings && options.genai && deepstack > 0) {
    Var concatenated = net.input("inputs_embeds", net.dtype(), {"batch", "seq", c.hidden * (1 + deepstack)});
    in.deepstack = split(concatenated, 2, std::vector(static_cast<size_t>(1 + deepstack), c.hidden));
    in.hidden = in.deepstack.front();
    in.deepstack.erase(in.deepstack.begin());
    in.seq = length_of(concatenated, 1);
  } else if (options.takes_embeddings) {
    in.hidden = net.input("inputs_embeds", net.dtype(), {"batch", "seq", c.hidden});
    in.seq = length_of(in.hidden, 1);
  } else {
    in.ids = net.input("input_ids", DataType::kInt64, {"batch", "seq"});
    in.hidden = embedding(scope.in("embed_tokens"), in.ids, c.vocabulary, c.hidden);
    in.seq = length_of(in.ids, 1);
  }
  in.attention_mask = net.input("attention_mask", DataType::kInt64, {"batch", options.kv_cache ? "past + seq" : "seq"});
  if (!options.kv_cache) return in;
  in.position_ids = net.input("position_ids", DataType::kInt64,
                              by_axis(options, c) ? ir::Dims{3, "batch", "seq"} : ir::Dims{"batch", "seq"});
  if (options.takes_embeddings && !options.genai) {
    for (int64_t k = 0; k < deepstack; ++k)
      in.deepstack.push_back(net.input(fmt::format("deepstack_embeds_{}", k), net.dtype(), {"batch", "seq", c.hidden}));
  }
  const ir::Dims dims{"batch", c.attention.kv_heads, "past", c.attention.head_dim};
  for (int64_t i = 0; i < c.layers; ++i) {
    const auto cache = [&](const char* kind) {
      return net.input(fmt::format("past_key_values.{}.{}", i, kind), net.dtype(), dims);
    };
    Var key = cache("key");
    in.past.push_back({key, cache("value")});
  }
  return in;
}

// The residual stream. A layer's output is added where the next norm reads the sum: one operator in ONNX Runtime.
class Residual {
 public:
  explicit Residual(Var start) : sum_(start) {}
  void add(Var x) { pending_ = pending_ ? pending_ + x : x; }

  Var normed(const Scope& norm, int64_t features, double epsilon) {
    const Here here(norm);
    Net& net = norm.net();
    if (!pending_) return rms_norm(norm, sum_, features, epsilon);
    if (!net.is_ort()) {
      sum_ = sum_ + pending_;
      pending_ = {};
      return rms_norm(norm, sum_, features, epsilon);
    }
    const auto left_out = DataType::kUndefined;
    const std::vector<Var> out = net.nodes(
        "SkipSimplifiedLayerNormalization", {sum_, pending_, norm.var("weight", {features})},
        {sum_.type, left_out, left_out, sum_.type}, {{"epsilon", static_cast<float>(epsilon)}}, "com.microsoft");
    sum_ = out[3];
    pending_ = {};
    return out[0];
  }

 private:
  Var sum_, pending_;
};

Bias bias_if(bool there) { return there ? Bias::kYes : Bias::kNo; }

Var project_qkv(const Scope& at, Var x, const DecoderConfig& c) {
  const AttentionSizes& a = c.attention;
  const int64_t q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  if (c.fused) return linear(at.in("qkv_proj"), x, c.hidden, q + 2 * kv, bias_if(c.qkv_bias));
  return concatenated_linear(at, {{"q_proj", q}, {"k_proj", kv}, {"v_proj", kv}}, x, c.hidden, bias_if(c.qkv_bias),
                             "qkv_proj");
}

Var feed_forward(const Scope& at, Var x, const DecoderConfig& c) {
  if (!c.fused) return gated_mlp(at, x, c.hidden, c.inner, c.activation, bias_if(c.mlp_bias));
  return fused_gated_mlp(at, x, c.hidden, c.inner, c.activation);
}

}  // namespace

std::unique_ptr<ir::Model> build_decoder(const BuildContext& context) {
  const TextHead head = text_head(context.config(), context.options);
  const DecoderConfig c = read_decoder_config(context.checkpoint);
  const BuildOptions& options = context.options;
  Net net(options);
  const Scope scope(net, context.weights, c.prefix);
  const Inputs in = declare_inputs(net, scope, c, num_deepstack(context.config(), c.layers));

  Var past = options.kv_cache ? length_of(in.past.front().key, 2) : Var{};
  CausalMasks masks(in.attention_mask, in.seq, past);
  Var positions = options.kv_cache ? in.position_ids : unsqueeze(arange(in.seq), {0});
  const TokenRotary rotary = rotary_at(c.rope, positions, by_axis(options, c), masks.batch());

  Residual stream(in.hidden);
  std::vector<Cache> present;
  for (int64_t i = 0; i < c.layers; ++i) {
    const Scope layer = scope.in("layers").in(i);
    const Scope attention = layer.in("self_attn");
    Var x = stream.normed(layer.in("input_layernorm"), c.hidden, c.norm_epsilon);
    {
      const Here here(attention);
      std::optional<HeadNorms> norms;
      if (c.norms_heads) norms = HeadNorms{attention.in("q_norm"), attention.in("k_norm"), c.norm_epsilon};
      const Attended attended = attend_causally(
          project_qkv(attention, x, c), rotary, norms, options.kv_cache ? in.past[static_cast<size_t>(i)] : Cache{},
          options.kv_cache, masks.for_window(c.windows[static_cast<size_t>(i)]), c.attention, masks);
      if (options.kv_cache) present.push_back(attended.present);
      const int64_t width = c.attention.heads * c.attention.head_dim;
      stream.add(linear(attention.in("o_proj"), attended.out, width, c.hidden, bias_if(c.out_bias)));
    }
    x = stream.normed(layer.in("post_attention_layernorm"), c.hidden, c.norm_epsilon);
    stream.add(feed_forward(layer.in("mlp"), x, c));
    if (i < static_cast<int64_t>(in.deepstack.size())) stream.add(in.deepstack[static_cast<size_t>(i)]);
  }
  Var hidden = stream.normed(scope.in("norm"), c.hidden, c.norm_epsilon);
  add_text_head(head, context.config(), c, scope, hidden, {in.ids, in.attention_mask, in.seq, past});

  const ir::Dims dims{"batch", c.attention.kv_heads, "past + seq", c.attention.head_dim};
  for (size_t i = 0; i < present.size(); ++i) {
    net.output(present[i].key, fmt::format("present.{}.key", i), dims);
    net.output(present[i].value, fmt::format("present.{}.value", i), dims);
  }
  return net.finish();
}

}  // namespace thaw::model
