// Convolutions with what follows them channel by channel, and with zeros around what they read.
#include <algorithm>
#include <cmath>
#include <optional>

#include "thaw/ir/data/floats.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/scaled_weights.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

constexpr AxisRange kChannelAxis{1, 1};

bool is_onnx(const ir::Node& node, std::string_view op) { return node.domain().empty() && node.op_type() == op; }

bool is_narrow_float(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
}

// A constant that goes with the node that reads it.
const ir::Tensor* own_constant(const ir::Value* value) {
  return value && value->initializer() && !value->is_input() && is_read_once(*value) ? value->initializer() : nullptr;
}

// (y - centre) * scale + shift, by channel; in float32 step by step, as ONNX Runtime fuses the same where it is left to.
struct Affine {
  std::vector<float> centre, scale, shift;
  bool shifts = false;

  float operator()(std::optional<float> y, size_t i) const {
    return y ? (*y - centre[i]) * scale[i] + shift[i] : shift[i] - centre[i] * scale[i];
  }
  uint64_t bytes = 0;  // of the constants that go with the node
};

class ConvolutionFuser {
 public:
  ConvolutionFuser(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes)
      : model_(model), facts_(facts), changes_(changes) {}

  int run() {
    for (ir::Node* node : model_.graph->nodes()) {
      const bool turns = is_onnx(*node, "ConvTranspose");
      if (!turns && !is_onnx(*node, "Conv")) continue;
      while (take_reader(*node, {.by_first_axis = !turns, .groups = node->attribute_int("group", 1)})) ++applied_;
      if (!turns && take_padding(*node)) ++applied_;
    }
    return applied_;
  }

 private:
  bool take_reader(ir::Node& conv, ChannelLayout layout) {
    ir::Value* output = conv.output(0);
    const ir::Tensor* weight = own_constant(conv.input(1));
    if (!output || !is_read_once(*output) || !weight || !is_narrow_float(weight->data_type)) return false;
    if (weight->dims.size() < 3 || layout.groups < 1 || weight->dims[0] % layout.groups != 0) return false;
    const int64_t channels = num_channels(*weight, layout);
    if (channels < 1 || weight->num_elements() == 0 || facts_.fact(output).rank() < 3) return false;
    const ir::Value* old_bias = conv.input(2);
    if (old_bias && !constant_of(old_bias)) return false;
    ir::Node& reader = *output->uses().front().node;
    if (reader.graph() != conv.graph()) return false;
    const auto affine = affine_of(reader, *output, channels);
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

  std::optional<Affine> affine_of(const ir::Node& reader, const ir::Value& output, int64_t channels) const {
    const auto count = static_cast<size_t>(channels);
    Affine affine{std::vector(count, 0.0F), std::vector(count, 1.0F), std::vector(count, 0.0F)};
    if (is_onnx(reader, "BatchNormalization")) return normalization(reader, output, std::move(affine));
    const bool multiplies = is_onnx(reader, "Mul"), divides = is_onnx(reader, "Div");
    const bool adds = is_onnx(reader, "Add"), subtracts = is_onnx(reader, "Sub");
    if (!multiplies && !divides && !adds && !subtracts) return std::nullopt;
    const int place = reader.input(0) == &output ? 1 : 0;
    if ((divides || subtracts) && place == 0) return std::nullopt;
    const auto numbers = per_channel(reader.input(place), output, channels, affine);
    if (!numbers) return std::nullopt;
    for (size_t i = 0; i < numbers->size(); ++i) {
      const auto number = static_cast<float>((*numbers)[i]);
      if (multiplies || divides) affine.scale[i] = divides ? 1 / number : number;
      if (adds || subtracts) affine.shift[i] = subtracts ? -number : number;
    }
    affine.shifts = adds || subtracts;
    return affine;
  }

  // A constant as one number for each channel; one of more numbers than that is another thing.
  std::optional<std::vector<double>> per_channel(const ir::Value* value, const ir::Value& output, int64_t channels,
                                                 Affine& affine) const {
    const ir::Tensor* tensor = constant_of(value);
    const ops::Fact &fact = facts_.fact(value), &data = facts_.fact(&output);
    if (!tensor || tensor->data_type != data.dtype) return std::nullopt;
    if (own_constant(value)) affine.bytes += tensor->num_bytes();
    const bool is_single = tensor->num_elements() == 1 && fact.rank() <= data.rank();
    if (!is_single && (tensor->num_elements() != channels || !lies_along(fact, data, kChannelAxis)))
      return std::nullopt;
    std::vector<double> numbers = tensor->to_double();
    if (is_single) numbers.resize(static_cast<size_t>(channels), numbers.front());
    return numbers;
  }

  std::optional<Affine> normalization(const ir::Node& norm, const ir::Value& output, Affine affine) const {
    const auto outputs = norm.outputs();
    if (norm.input(0) != &output || norm.attribute_int("training_mode", 0) != 0 ||
        norm.attribute_int("spatial", 1) != 1 ||
        std::any_of(outputs.begin() + 1, outputs.end(), [](const ir::Value* v) { return v && v->is_used(); }))
      return std::nullopt;
    std::vector<std::vector<double>> parameters;
    for (int i = 1; i < 5; ++i) {
      const ir::Tensor* tensor = constant_of(norm.input(i));
      if (!tensor || tensor->num_elements() != static_cast<int64_t>(affine.scale.size()) ||
          !ir::is_floating(tensor->data_type))
        return std::nullopt;
      if (own_constant(norm.input(i))) affine.bytes += tensor->num_bytes();
      parameters.push_back(tensor->to_double());
    }
    const float epsilon = norm.attribute_float("epsilon", 1e-5F);
    for (size_t i = 0; i < affine.scale.size(); ++i) {
      const auto number = [&](size_t which) { return static_cast<float>(parameters[which][i]); };
      affine.scale[i] = number(0) / std::sqrt(number(3) + epsilon);
      affine.shift[i] = number(1);
      affine.centre[i] = number(2);
    }
    affine.shifts = true;
    return affine;
  }

  void replace(ir::Node& conv, ir::Node& reader, const ir::Tensor& weight, ChannelLayout layout, const Affine& affine,
               std::optional<std::vector<float>> bias) {
    ir::Graph& graph = *conv.graph();
    changes_.made.push_back({.kind = "fuse " + reader.op_type() + " into " + conv.op_type(),
                             .place = conv.describe(),
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
                             .place = conv.describe(),
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

  ir::Model& model_;
  infer::Inference& facts_;
  rewrite::Changes& changes_;
  int applied_ = 0;
};

// What ONNX Runtime's CPU does on the way out of a convolution, with its numbers; nullopt for others.
std::optional<std::vector<float>> activation_numbers(const ir::Node& node) {
  using Numbers = std::vector<float>;
  if (is_onnx(node, "Relu") || is_onnx(node, "Sigmoid") || is_onnx(node, "Tanh")) return Numbers();
  if (is_onnx(node, "LeakyRelu")) return Numbers{node.attribute_float("alpha", 0.01F)};
  if (is_onnx(node, "HardSigmoid"))
    return Numbers{node.attribute_float("alpha", 0.2F), node.attribute_float("beta", 0.5F)};
  if (!is_onnx(node, "Clip") || node.attribute("min") || node.attribute("max")) return std::nullopt;
  Numbers limits;
  for (const int i : {1, 2}) {
    const auto limit = node.input(i) ? rewrite::number_of(*node.input(i)) : std::nullopt;
    if (!limit) return std::nullopt;
    limits.push_back(static_cast<float>(*limit));
  }
  return limits;
}

}  // namespace

int fuse_convolutions(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  return ConvolutionFuser(model, facts, changes).run();
}

int fuse_conv_activations(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* conv : model.graph->nodes()) {
    ir::Value* output = conv->output(0);
    if (!is_onnx(*conv, "Conv") || !output || !is_read_once(*output)) continue;
    if (facts.fact(output).dtype != ir::DataType::kFloat) continue;
    ir::Node* activation = output->uses().front().node;
    if (activation->graph() != conv->graph() || activation->input(0) != output || !activation->output(0)) continue;
    auto numbers = activation_numbers(*activation);
    if (!numbers) continue;
    ops::Attributes attributes(conv->attributes().begin(), conv->attributes().end());
    attributes.push_back({"activation", activation->op_type()});
    if (!numbers->empty()) attributes.push_back({"activation_params", std::move(*numbers)});
    rewrite::Patch patch(model, {});
    patch.emitter().set_origin(conv->name.empty() ? output->name() : conv->name);
    changes.made.push_back({.kind = "FusedConv",
                            .place = conv->describe(),
                            .replaced = {{"Conv and " + activation->op_type(), "FusedConv"}}});
    const auto made =
        rewrite::emit_node(patch.before(activation), {.op = "FusedConv",
                                                      .inputs = {conv->inputs().begin(), conv->inputs().end()},
                                                      .attributes = std::move(attributes),
                                                      .domain = ops::kMicrosoft});
    patch.replace(activation->output(0), made.front());
    activation->graph()->remove_node(activation);
    conv->graph()->remove_node(conv);
    patch.apply(facts);
    ++count;
  }
  return count;
}

}  // namespace thaw::optimizing
