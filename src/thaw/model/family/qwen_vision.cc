#include "thaw/model/family/qwen_vision.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/model/family/embedding.h"
#include "thaw/model/nn/layers.h"
#include "thaw/model/nn/patch_grid.h"
#include "thaw/model/nn/rotary.h"

namespace thaw::model {
namespace {

constexpr double kVisionNormEpsilon = 1e-6;  // not in the configs: the code of all three says so

struct TowerConfig {
  int64_t depth, width, heads, out;
  int64_t channels, patch, temporal_patch, merge;
  double rope_theta;
  int64_t patch_features() const { return channels * temporal_patch * patch * patch; }
  int64_t head_dim() const { return width / heads; }
  int64_t block() const { return merge * merge; }  // patches that become one token
};

// Current transformers write what earlier code fixed: the base of the angles of rows and columns.
double rope_theta_of(const Config& config) {
  const Config rope = config.object_or_self("rope_parameters");
  const std::string kind = rope.text_or({"rope_type"}, "axial");
  if (kind != "axial" && kind != "default")
    rope.fail("rope_type", fmt::format("is '{}'", kind), "axial, angles by row and column");
  const double theta = rope.number_or({"rope_theta"}, config.number_or({"rope_theta"}, 10000.0));
  if (!(theta > 0 && std::isfinite(theta))) rope.fail("rope_theta", fmt::format("is {}", theta), "a positive number");
  return theta;
}

TowerConfig tower_config(const Config& config, int64_t width, int64_t out) {
  constexpr int64_t kMostMerged = 1024;  // a side: 2 in the models that are known
  TowerConfig c{.depth = config.size({"depth"}),
                .width = width,
                .heads = config.size({"num_heads"}),
                .out = out,
                .channels = config.size_or({"in_channels", "in_chans"}, 3),
                .patch = config.size_or({"patch_size", "spatial_patch_size"}, 14),
                .temporal_patch = config.size_or({"temporal_patch_size"}, 2),
                .merge = config.size_or({"spatial_merge_size"}, 2, kMostMerged),
                .rope_theta = rope_theta_of(config)};
  if (c.width % (c.heads * 4) != 0)
    config.fail("num_heads", fmt::format("is {}", c.heads),
                fmt::format("heads of a multiple of 4 elements in a width of {}", c.width));
  return c;
}

// The layers that are outside of the towers' common skeleton, and differ.
struct Tower {
  Scope scope;
  TowerConfig config;
  Var patches;
  PatchGrid grid;
  Rotary rotary;

  Tower(Net& net, const Weights& weights, std::string_view prefix, const TowerConfig& c)
      : scope(net, weights, std::string(prefix)), config(c) {
    static_cast<void>(kernel());  // before anything is made as long as the config says
    if (net.options().input == VisionInput::kImage) {
      Var image = net.input("image", ir::DataType::kFloat, {"num_images", c.channels, "height", "width"});
      patches = image_patches(image, c.channels, c.temporal_patch, c.patch, c.merge);
      grid = image_grid(image, c.patch, c.merge);
    } else {
      take_patches(net, c);
    }
    rotary = rotary_from_angles(patch_angles(grid, c.head_dim(), c.rope_theta), net.dtype());
  }

  void take_patches(Net& net, const TowerConfig& c) {
    patches = net.input("pixel_values", ir::DataType::kFloat, {"num_patches", c.patch_features()});
    const std::string name = net.options().genai ? "image_grid_thw" : "grid_thw";
    Var grid_thw = net.input(name, ir::DataType::kInt64, {"num_images", 3});
    // What image processors make: sides are whole blocks.
    net.state(fmt::format("{0}[:,0]=1.., {0}[:,1]={1}..:{1}, {0}[:,2]={1}..:{1}", name, c.merge));
    net.state(fmt::format("num_patches=sum({0}[:,0]*{0}[:,1]*{0}[:,2])", name));
    grid = patch_grid(grid_thw, patches, c.merge);
  }

  Weight kernel() const {
    return scope.in("patch_embed")
        .in("proj")
        .weight("weight", {config.width, config.channels, config.temporal_patch, config.patch, config.patch});
  }

  // A convolution whose stride is its kernel is a product with the flattened kernel.
  Var embed_patches(Bias bias) const {
    const Scope proj = scope.in("patch_embed").in("proj");
    const Here here(proj);
    Net& net = scope.net();
    const Weight weight = kernel().reshaped({config.width, config.patch_features()}).transposed();
    Var x = matmul(cast(patches, net.dtype()), net.weight(proj.name("weight"), weight));
    return bias == Bias::kYes ? x + proj.var("bias", {config.width}) : x;
  }

  Var attention(const Scope& at, Var x, const Groups& groups) const {
    const Here here(at);
    const int64_t width = config.width;
    std::vector<Var> qkv = split(linear(at.in("qkv"), x, width, 3 * width), -1, {width, width, width});
    Var q = rotate_rows(qkv[0], rotary, config.heads, config.head_dim(), config.head_dim());
    Var k = rotate_rows(qkv[1], rotary, config.heads, config.head_dim(), config.head_dim());
    Var attended = attend_in_groups(q, k, qkv[2], groups, config.heads, config.head_dim());
    return linear(at.in("proj"), attended, width, width);
  }

  // Blocks of merge x merge patches, one row each: [num_tokens, merge^2 * width].
  Var merge_blocks(Var x) const { return reshape(x, {-1, config.block() * config.width}); }
};

void add_outputs(const Tower& tower, Var features, const std::vector<Var>& deepstack = {}) {
  Net& net = tower.scope.net();
  const int64_t out = tower.config.out;
  if (net.options().genai) {
    // One tensor goes from tower to decoder there: what DeepStack adds stands beside the features.
    std::vector<Var> all{features};
    all.insert(all.end(), deepstack.begin(), deepstack.end());
    net.output(concat(all, 1), "image_features", {"num_tokens", out * static_cast<int64_t>(all.size())});
    return;
  }
  net.output(features, "vision_features", {"num_tokens", out});
  for (size_t k = 0; k < deepstack.size(); ++k)
    net.output(deepstack[k], fmt::format("deepstack_features_{}", k), {"num_tokens", out});
}

Var qwen2_merger(const Tower& tower, const Scope& at, Var normed) {
  const int64_t inner = tower.config.block() * tower.config.width;
  const Scope layers = at.in("mlp");
  return mlp(layers, "0", "2", tower.merge_blocks(normed), inner, inner, tower.config.out, "gelu");
}

}  // namespace

std::unique_ptr<ir::Model> build_qwen2_vl_vision(const BuildContext& context) {
  const Config config = context.config().object("vision_config");
  const int64_t width = config.size({"embed_dim"});
  const TowerConfig c = tower_config(config, width, config.size({"hidden_size"}));
  const int64_t inner = std::llround(static_cast<double>(width) * config.number_or({"mlp_ratio"}, 4));
  const std::string activation = config.text_or({"hidden_act"}, "quick_gelu");

  Net net(context.options);
  const Tower tower(net, context.weights, "visual", c);
  const Groups frames = group_frames(tower.grid);
  Var x = tower.embed_patches(Bias::kNo);
  for (int64_t i = 0; i < c.depth; ++i) {
    const Scope block = tower.scope.in("blocks").in(i);
    x = x + tower.attention(block.in("attn"), layer_norm(block.in("norm1"), x, width, kVisionNormEpsilon), frames);
    x = x + mlp(block.in("mlp"), "fc1", "fc2", layer_norm(block.in("norm2"), x, width, kVisionNormEpsilon), width,
                inner, width, activation);
  }
  const Scope merger = tower.scope.in("merger");
  add_outputs(tower, qwen2_merger(tower, merger, layer_norm(merger.in("ln_q"), x, width, kVisionNormEpsilon)));
  return net.finish();
}

std::unique_ptr<ir::Model> build_qwen2_5_vl_vision(const BuildContext& context) {
  const Config config = context.config().object("vision_config");
  const int64_t width = config.size({"hidden_size"});
  const TowerConfig c = tower_config(config, width, config.size({"out_hidden_size"}));
  const int64_t inner = config.size({"intermediate_size"});
  const std::string activation = config.text_or({"hidden_act"}, "silu");
  const std::vector<int64_t> full = config.integers_or({"fullatt_block_indexes"}, {7, 15, 23, 31});
  const int64_t side = config.size_or({"window_size"}, 112) / c.merge / c.patch;  // in blocks
  if (side < 1) config.fail("window_size", "is smaller than a block of patches", "at least merge * patch pixels");
  constexpr int64_t kWidest = 256;  // patches: a window is 8 in the models that are known
  if (side > kWidest / c.merge)
    config.fail("window_size", fmt::format("makes windows of {} patches a side", side * c.merge),
                fmt::format("at most {}", kWidest));

  Net net(context.options);
  const Tower tower(net, context.weights, "visual", c);
  const Groups frames = group_frames(tower.grid);
  const Groups windows = group_windows(tower.grid, side);
  Var x = tower.embed_patches(Bias::kNo);
  for (int64_t i = 0; i < c.depth; ++i) {
    const Scope block = tower.scope.in("blocks").in(i);
    const bool sees_all = std::find(full.begin(), full.end(), i) != full.end();
    x = x + tower.attention(block.in("attn"), rms_norm(block.in("norm1"), x, width, kVisionNormEpsilon),
                            sees_all ? frames : windows);
    x = x + gated_mlp(block.in("mlp"), rms_norm(block.in("norm2"), x, width, kVisionNormEpsilon), width, inner,
                      activation, Bias::kYes);
  }
  const Scope merger = tower.scope.in("merger");
  add_outputs(tower, qwen2_merger(tower, merger, rms_norm(merger.in("ln_q"), x, width, kVisionNormEpsilon)));
  return net.finish();
}

std::unique_ptr<ir::Model> build_qwen3_vl_vision(const BuildContext& context) {
  const Config config = context.config().object("vision_config");
  const int64_t width = config.size({"hidden_size"});
  const TowerConfig c = tower_config(config, width, config.size({"out_hidden_size"}));
  const int64_t inner = config.size({"intermediate_size"});
  const std::string activation = config.text_or({"hidden_act"}, "gelu_pytorch_tanh");
  const std::vector<int64_t> deepstack = deepstack_layers(context.config());
  const int64_t positions = config.size({"num_position_embeddings"});
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(positions)));

  Net net(context.options);
  const Tower tower(net, context.weights, "model.visual", c);
  const Groups frames = group_frames(tower.grid);
  Var x = tower.embed_patches(Bias::kYes);
  x = x + interpolated_positions(tower.grid, tower.scope.in("pos_embed").var("weight", {positions, width}), side);

  const int64_t concatenated = c.block() * width;
  const auto merge_tokens = [&](const Scope& at, Var rows) {
    return mlp(at, "linear_fc1", "linear_fc2", rows, concatenated, concatenated, c.out, "gelu");
  };
  // In the order of the layers, whatever that of the list is, which counts the mergers.
  std::vector<Var> features;
  for (int64_t i = 0; i < c.depth; ++i) {
    const Scope block = tower.scope.in("blocks").in(i);
    x = x + tower.attention(block.in("attn"), layer_norm(block.in("norm1"), x, width, kVisionNormEpsilon), frames);
    x = x + mlp(block.in("mlp"), "linear_fc1", "linear_fc2",
                layer_norm(block.in("norm2"), x, width, kVisionNormEpsilon), width, inner, width, activation);
    const auto tap = std::find(deepstack.begin(), deepstack.end(), i);
    if (tap == deepstack.end()) continue;
    const Scope merger = tower.scope.in("deepstack_merger_list").in(tap - deepstack.begin());
    features.push_back(
        merge_tokens(merger, layer_norm(merger.in("norm"), tower.merge_blocks(x), concatenated, kVisionNormEpsilon)));
  }
  if (features.size() != deepstack.size()) {
    config.fail("deepstack_visual_indexes", fmt::format("is [{}]", fmt::join(deepstack, ", ")),
                fmt::format("different layers below {}", c.depth));
  }
  const Scope merger = tower.scope.in("merger");
  Var merged = merge_tokens(merger, tower.merge_blocks(layer_norm(merger.in("norm"), x, width, kVisionNormEpsilon)));
  add_outputs(tower, merged, features);
  return net.finish();
}

}  // namespace thaw::model
