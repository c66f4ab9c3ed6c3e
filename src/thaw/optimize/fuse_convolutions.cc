// Convolutions and Gemms with what follows them channel by channel, and convolutions with zeros around what they read.
#include <algorithm>
#include <cmath>
#include <optional>

#include "thaw/ir/data/floats.h"
#include "thaw/optimize/channel_affine.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/scaled_weights.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

bool is_onnx(const ir::Node& node, std::string_view op) { return node.domain().empty() && node.op_type() == op; }

class ConvolutionFuser {
 public:
  explicit ConvolutionFuser(Context& context)
      : context_(context), model_(context.model), facts_(context.facts()), changes_(context.changes) {}

  int run() {
    return rewrite::for_sites(context_, [&](ir::Node* node) {
      int applied = 0;
      const auto layout = layout_of(*node);
      if (!layout) return applied;
      while (take_reader(*node, *layout)) ++applied;
      if (is_onnx(*node, "Conv") && take_padding(*node)) ++applied;
      return applied;
    });
  }

 private:
  // Of a convolution, and of a Gemm that nothing but its weight and its bias is scaled in.
  static std::optional<ChannelLayout> layout_of(const ir::Node& node) {
    if (is_onnx(node, "Conv")) return ChannelLayout{ChannelLayout::kFirst, node.attribute_int("group", 1)};
    if (is_onnx(node, "ConvTranspose"))
      return ChannelLayout{ChannelLayout::kSecondOfGroup, node.attribute_int("group", 1)};
    if (!is_onnx(node, "Gemm") || node.attribute_float("beta", 1) != 1) return std::nullopt;
    return ChannelLayout{node.attribute_int("transB", 0) != 0 ? ChannelLayout::kFirst : ChannelLayout::kLast};
  }

  bool take_reader(ir::Node& conv, ChannelLayout layout) {
    ir::Value* output = conv.output(0);
    const ir::Tensor* weight = own_constant(conv.input(1));
    if (!output || !is_read_once(*output) || !weight || !is_narrow_float(weight->data_type)) return false;
    if (weight->dims.size() < 2 || layout.groups < 1 || weight->dims[0] % layout.groups != 0) return false;
    const int64_t channels = num_channels(*weight, layout);
    if (channels < 1 || weight->num_elements() == 0 || facts_.fact(output).rank() < 2) return false;
    const ir::Value* old_bias = conv.input(2);
    if (old_bias && !constant_of(old_bias)) return false;
    ir::Node& reader = *output->uses().front().node;
    if (reader.graph() != conv.graph()) return false;
    const auto affine = affine_of(reader, *output, channels, facts_);
    if (!affine) return false;
    const uint64_t bias_bytes = static_cast<uint64_t>(channels) * ir::bits_of(weight->data_type) / 8;
    const bool gets_bias = old_bias || affine->shifts;
    // The file does not grow: a new bias stands in the place of as much.
    if (gets_bias && !own_constant(old_bias) && bias_bytes > affine->bytes) return false;
    std::vector<float> bias(static_cast<size_t>(channels));
    const std::vector<double> before = old_bias ? constant_of(old_bias)->to_double() : std::vector<double>();
    if (old_bias && before.size() != bias.size()) return false;
    for (size_t i = 0; i < bias.size(); ++i) {
      bias[i] = (*affine)(old_bias ? std::optional(static_cast<float>(before[i])) : std::nullopt, i);
      if (!std::isfinite(bias[i]) || !std::isfinite(affine->scale[i])) return false;
    }
    replace(conv, reader, *weight, layout, *affine, gets_bias ? std::optional(std::move(bias)) : std::nullopt);
    return true;
  }

  void replace(ir::Node& conv, ir::Node& reader, const ir::Tensor& weight, ChannelLayout layout, const Affine& affine,
               std::optional<std::vector<float>> bias) {
    ir::Graph& graph = *conv.graph();
    changes_.made.push_back({.kind = "fuse " + reader.op_type() + " into " + conv.op_type(),
                             .location = conv.describe(),
                             .replaced = {{conv.op_type() + " and " + reader.op_type(), conv.op_type()}}});
    rewrite::Patch patch(model_, {});
    std::vector<ir::Value*> inputs{conv.input(0), conv.input(1)};
    const auto listed = [&](ir::Tensor tensor, const ir::Value* old, std::string_view otherwise) {
      tensor.name = model_.graph->unique_name((old ? old->name() : reader.output(0)->name() + std::string(otherwise)) +
                                              (old ? "_fused" : ""));
      return graph.add_initializer(std::move(tensor));
    };
    if (std::ranges::any_of(affine.scale, [](float by) { return by != 1; }))
      inputs[1] = listed(scaled(weight, layout, affine.scale), conv.input(1), "_weight");
    if (bias) {
      std::vector<std::byte> bytes(bias->size() * ir::bits_of(weight.data_type) / 8);
      ir::from_floats(*bias, weight.data_type, bytes.data());
      inputs.push_back(
          listed(ir::Tensor::from_bytes({}, weight.data_type, {static_cast<int64_t>(bias->size())}, std::move(bytes)),
                 conv.input(2), "_bias"));
    }
    conv.set_inputs(inputs);
    patch.replace(reader.output(0), conv.output(0));
    graph.remove_node(&reader);
    patch.apply(facts_);
  }

  // Zeros put around the image are what the convolution puts there itself.
  bool take_padding(ir::Node& conv) {
    ir::Value* padded = conv.input(0);
    ir::Node* pad = padded->producer();
    if (!pad || !is_onnx(*pad, "Pad") || !is_read_once(*padded) ||
        pad->attribute_string("mode", "constant") != "constant" || pad->input(3))
      return false;
    const auto with = pad->input(2) ? rewrite::number_of(*pad->input(2)) : std::optional(0.0);
    if (with != 0.0 || pad->attribute_float("value", 0) != 0) return false;
    const std::string_view automatic = conv.attribute_string("auto_pad", "NOTSET");
    const int rank = facts_.fact(padded).rank();
    const auto around = pads_of(*pad);
    if ((automatic != "NOTSET" && automatic != "VALID") || rank < 3 || around.size() != 2 * static_cast<size_t>(rank) ||
        std::ranges::any_of(around, [](int64_t n) { return n < 0; }))
      return false;
    const size_t spatial = static_cast<size_t>(rank) - 2;
    std::vector<int64_t> all(2 * spatial);
    const auto own = automatic == "VALID" ? std::span<const int64_t>() : conv.attribute_ints("pads");
    if (!own.empty() && own.size() != all.size()) return false;
    for (const size_t end : {size_t{0}, size_t{1}}) {
      const size_t first = end * static_cast<size_t>(rank);
      if (around[first] != 0 || around[first + 1] != 0) return false;
      for (size_t i = 0; i < spatial; ++i)
        all[end * spatial + i] = around[first + 2 + i] + (own.empty() ? 0 : own[end * spatial + i]);
    }
    changes_.made.push_back({.kind = "fuse Pad into Conv",
                             .location = conv.describe(),
                             .replaced = {{"Pad and " + conv.op_type(), conv.op_type()}}});
    rewrite::Patch patch(model_, {});
    conv.remove_attribute("auto_pad");
    conv.set_attribute({"pads", std::move(all)});
    conv.set_input(0, pad->input(0));
    pad->graph()->remove_node(pad);
    patch.apply(facts_);
    return true;
  }

  static std::vector<int64_t> pads_of(const ir::Node& pad) {
    if (!pad.input(1)) {
      const auto given = pad.attribute_ints("pads");
      return {given.begin(), given.end()};
    }
    const ir::Tensor* tensor = constant_of(pad.input(1));
    return tensor && tensor->num_elements() <= 64 ? tensor->to_int64() : std::vector<int64_t>();
  }

  Context& context_;
  ir::Model& model_;
  infer::Inference& facts_;
  rewrite::Changes& changes_;
};

}  // namespace

int fuse_convolutions(Context& context) { return ConvolutionFuser(context).run(); }

}  // namespace thaw::optimizing
