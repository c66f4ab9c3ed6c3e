#include "thaw/model/family/phi4_vision.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/model/nn/crops.h"
#include "thaw/model/nn/groups.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {
namespace {

struct Phi4VisionConfig {
  int64_t width, inner, heads, channels, image, patch, crop;
  int64_t layers;  // that run: the features are taken before the last ones
  double epsilon;
  std::string activation;
  CropOrder order;
  int64_t side() const { return image / patch; }
  int64_t head_dim() const { return width / heads; }
};

CropOrder crop_order(const Config& config) {
  const std::string order = config.text_or({"hd_transform_order"}, "sub_glb");
  if (order == "sub_glb") return CropOrder::kCropsFirst;
  if (order == "glb_sub") return CropOrder::kWholeFirst;
  config.fail("hd_transform_order", fmt::format("is '{}'", order), "sub_glb or glb_sub");
}

// transformers writes the tower's sizes and the arrangement of crops into vision_config. On the model hub the sizes are
// the code's defaults, and embd_layer.image_embd_layer holds the arrangement.
Phi4VisionConfig phi4_vision_config(const Config& config) {
  const auto embedding = config.find_object("embd_layer");
  const Config arrangement = embedding ? embedding->object("image_embd_layer") : config.object("vision_config");
  const Config sizes = config.find_object("vision_config").value_or(arrangement);
  Phi4VisionConfig c{.width = sizes.size_or({"hidden_size"}, 1152),
                     .inner = sizes.size_or({"intermediate_size"}, 4304),
                     .heads = sizes.size_or({"num_attention_heads"}, 16),
                     .channels = sizes.size_or({"num_channels"}, 3),
                     .image = sizes.size_or({"image_size"}, 448),
                     .patch = sizes.size_or({"patch_size"}, 14),
                     .crop = arrangement.size_or({"crop_size"}, 448),
                     .layers = sizes.size_or({"num_hidden_layers"}, 27),
                     .epsilon = sizes.number_or({"layer_norm_eps"}, 1e-6),
                     .activation = sizes.text_or({"hidden_act"}, "gelu_pytorch_tanh"),
                     .order = crop_order(arrangement)};
  if (!arrangement.boolean_or({"use_hd_transform"}, true))
    arrangement.fail("use_hd_transform", "is false", "true: images come as crops");
  if (c.width % c.heads != 0)
    sizes.fail("num_attention_heads", fmt::format("is {}", c.heads), fmt::format("a divisor of {}", c.width));
  if (c.image % c.patch != 0)
    sizes.fail("patch_size", fmt::format("is {}", c.patch), fmt::format("a divisor of {}", c.image));
  constexpr int64_t kMostPatches = 1024;  // a side: 32 in the model that is known, and a row of a table for each
  if (c.side() > kMostPatches)
    sizes.fail("image_size", fmt::format("makes {} patches a side", c.side()), fmt::format("at most {}", kMostPatches));
  // Number 0 is what goes into the first layer; negative numbers count from the last layer's output.
  const int64_t feature = sizes.integer_or({"feature_layer"}, -2);
  const int64_t running = feature < 0 ? c.layers + 1 + feature : feature;
  if (running < 0 || running > c.layers)
    sizes.fail("feature_layer", fmt::format("is {}", feature), fmt::format("{} to {}", -c.layers - 1, c.layers));
  c.layers = running;
  return c;
}

// A convolution whose stride is its kernel: patches as rows, times the flattened kernel.
// pixels [num_crops, channels, image, image] -> [num_crops, side * side, width]
Var embed_patches(const Scope& at, Var pixels, const Phi4VisionConfig& c) {
  const Here here(at);
  Net& net = at.net();
  const Weight whole = at.weight("weight", {c.width, c.channels, c.patch, c.patch});
  const int64_t side = c.side(), features = c.channels * c.patch * c.patch;
  Var blocks = reshape(pixels, {-1, c.channels, side, c.patch, side, c.patch});
  Var patches = reshape(transpose(blocks, {0, 2, 4, 1, 3, 5}), {-1, side * side, features});
  const Weight kernel = whole.reshaped({c.width, features}).transposed();
  return matmul(patches, net.weight(at.name("weight"), kernel)) + at.var("bias", {c.width});
}

// x [num_crops, patches, width]
Var attention(const Scope& at, Var x, Var mask, const Phi4VisionConfig& c) {
  const Here here(at);
  const std::vector<std::pair<std::string_view, int64_t>> layers{
      {"q_proj", c.width}, {"k_proj", c.width}, {"v_proj", c.width}};
  const std::vector<Var> qkv =
      split(concatenated_linear(at, layers, x, c.width, Bias::kYes, "qkv_proj"), -1, {c.width, c.width, c.width});
  Var attended = attend_in_batch(qkv[0], qkv[1], qkv[2], mask, /*bounded=*/false, c.heads, c.head_dim());
  return linear(at.in("out_proj"), attended, c.width, c.width);
}

// The mean of each two by two patches: [num_crops, side * side, width] -> [cells of all crops, width]. Where side is
// odd, the last row and column have the ones before them mirrored beside them.
Var pool_cells(Net& net, Var x, const Phi4VisionConfig& c) {
  const Here here(net, "pool");
  int64_t side = c.side();
  Var square = reshape(x, {0, side, side, c.width});
  if (side % 2 != 0) {
    std::vector<int64_t> mirrored;
    for (int64_t i = 0; i < side; ++i) mirrored.push_back(i);
    mirrored.push_back(side - 2);
    ++side;
    square = gather(gather(square, net.integers(mirrored), 1), net.integers(mirrored), 2);
  }
  Var cells = reshape(square, {-1, side / 2, 2, side / 2, 2, c.width});
  return reshape(reduce_mean(cells, {2, 4}), {-1, c.width});
}

}  // namespace

std::unique_ptr<ir::Model> build_phi4_vision(const BuildContext& context) {
  const Phi4VisionConfig c = phi4_vision_config(context.config());
  const int64_t hidden = context.config().size({"hidden_size"});
  const int64_t side = c.side(), positions = side * side;

  Net net(context.options);
  Var pixels =
      net.input("pixel_values", ir::DataType::kFloat, {"num_images", "max_num_crops", c.channels, c.image, c.image});
  Var mask = net.input("image_attention_mask", ir::DataType::kBool, {"num_images", "max_num_crops", side, side});
  Var image_sizes = net.input("image_sizes", ir::DataType::kInt64, {"num_images", 2});
  net.state(fmt::format("image_sizes[:,0]={0}..:{0}, image_sizes[:,1]={0}..:{0}", c.crop));  // in whole crops
  const Scope embed(net, context.weights, "model.embed_tokens_extend.image_embed");
  const Scope tower = embed.in("img_processor");

  const CropGrid grid = crop_grid(image_sizes, c.crop);
  Var crop_mask = used_crops(grid, mask);
  Var slots = slot_mask(reshape(crop_mask, {0, positions}));
  Var x = embed_patches(tower.in("embeddings").in("patch_embedding"), cast(used_crops(grid, pixels), net.dtype()), c);
  x = x + embedding(tower.in("embeddings").in("position_embedding"), bucketed_positions(crop_mask, side, side),
                    positions, c.width);
  for (int64_t i = 0; i < c.layers; ++i) {
    const Scope layer = tower.in("encoder").in("layers").in(i);
    x = x + attention(layer.in("self_attn"), layer_norm(layer.in("layer_norm1"), x, c.width, c.epsilon), slots, c);
    x = x + mlp(layer.in("mlp"), "fc1", "fc2", layer_norm(layer.in("layer_norm2"), x, c.width, c.epsilon), c.width,
                c.inner, c.width, c.activation);
  }

  // The separators are rows of the features too, so that one Gather reads all tokens.
  const auto separator = [&](std::string_view name, const std::vector<int64_t>& shape) {
    return net.weight(embed.name(name), embed.weight(name, shape).reshaped({1, c.width}));
  };
  Var line_break = separator("sub_img_feature_extensor", {1, 1, 1, c.width});
  Var divider = separator("global_img_feature_extensor", {1, 1, c.width});
  static_assert(kLineBreak == 0 && kSeparator == 1 && kFirstCell == 2);
  Var features = concat({line_break, divider, pool_cells(net, x, c)}, 0);
  Var tokens = gather(features, crop_tokens(grid, mask, side, c.order));
  Var projected = mlp(embed, "img_projection_up", "img_projection_down", tokens, c.width, hidden, hidden, "gelu");
  net.output(projected, "image_features", {"num_tokens", hidden});
  return net.finish();
}

}  // namespace thaw::model
