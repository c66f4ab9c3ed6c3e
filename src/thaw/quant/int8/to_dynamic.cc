// Dynamic INT8: activations are quantized at each run, and products are of integers.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/qdq_writer.h"
#include "thaw/quant/int8/weight_chooser.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::int8 {
namespace {

using ir::DataType;
using ops::Int8Kernel;

// ONNX Runtime's ConvInteger takes weights of uint8, with one zero point, and its MatMulInteger no int8 before uint8.
Int8Options with_unsigned_weights(const Int8Options& options) {
  Int8Options own = options;
  own.unsigned_weights = own.symmetric_weights = true;
  return own;
}

Int8Options options_of(const ChosenNode& node) {
  if (node.weighted.kernel == Int8Kernel::kRecurrent) {
    Int8Options own = *node.options;
    own.symmetric_weights = true;  // one zero point for all is what DynamicQuantizeLSTM takes
    return own;
  }
  const bool is_left = node.weighted.data == 1;
  return node.weighted.kernel == Int8Kernel::kConvolution || is_left ? with_unsigned_weights(*node.options)
                                                                     : *node.options;
}

// A weight and what it is multiplied with, both as integers.
class IntegerWriter {
 public:
  IntegerWriter(rewrite::Patch& patch, QdqWriter& constants) : patch_(patch), constants_(constants) {}

  void put_product(const ChosenNode& chosen, const WeightScales& scales) {
    ir::Node& node = *chosen.weighted.node;
    const WeightOperand& weight = chosen.weighted.weights.front();
    const auto form = ops::weight_product(node);
    patch_.emitter().set_origin(rewrite::name_of(node));
    const ops::Emit at = patch_.before(&node);
    const Measured x = measured(node.input(chosen.weighted.data));
    QdqWriter::CodedConstants& w = constants_.constants_of(weight.value, scales);
    const bool is_left = weight.input == form->x;  // it is multiplied with what stands on its right
    const bool is_transposed =
        weight.behind_transpose != (is_left ? form->x_is_transposed : form->weight_is_transposed);
    ir::Value* codes = is_transposed ? constants_.transposed(w, weight.value->name()) : w.codes;
    ir::Value* data =
        (is_left ? form->weight_is_transposed : form->x_is_transposed) ? at.transpose(x.codes, {1, 0}) : x.codes;
    ir::Value* w_zero = has_zero_points(scales) ? w.zero : nullptr;
    ir::Value* sum = is_left ? at.emit("MatMulInteger", {codes, data, w_zero, x.zero})
                             : at.emit("MatMulInteger", trimmed({data, codes, x.zero, w_zero}));
    ir::Value* y = scaled(at, sum, x, form->alpha == 1 ? w.scale : scale_constant(at, scales, {}, form->alpha));
    if (form->bias >= 0) {
      ir::Value* bias = node.input(form->bias);
      y = at.add(y, form->beta == 1 ? bias : at.mul(bias, at.scalar(form->beta, DataType::kFloat)));
    }
    patch_.replace_by_new(node.output(0), y);
    node.graph()->remove_node(&node);
  }

  void put_convolution(const ChosenNode& chosen, const WeightScales& scales) {
    ir::Node& node = *chosen.weighted.node;
    const WeightOperand& weight = chosen.weighted.weights.front();
    patch_.emitter().set_origin(rewrite::name_of(node));
    const ops::Emit at = patch_.before(&node);
    const Measured x = measured(node.input(chosen.weighted.data));
    const QdqWriter::CodedConstants& w = constants_.constants_of(weight.value, scales);
    ir::Value* zero = at.writer().constant(
        ir::Tensor::from_bytes({}, scales.codes.type, {}, {static_cast<std::byte>(scales.affine.front().zero)}));
    const auto given = node.attributes();
    ir::Value* sum =
        at.emit("ConvInteger", {x.codes, w.codes, x.zero, zero}, ops::Attributes(given.begin(), given.end()));
    // Along the axis of channels, before those of the image.
    std::vector<int64_t> dims(weight.tensor->dims.size() - 1, 1);
    dims[0] = scales.channels.count;
    ir::Value* y = scaled(at, sum, x, scale_constant(at, scales, dims, 1));
    if (ir::Value* bias = node.input(2)) {
      dims[0] = -1;
      y = at.add(y, at.reshape(bias, at.list(dims)));
    }
    patch_.replace_by_new(node.output(0), y);
    node.graph()->remove_node(&node);
  }

  // In DynamicQuantizeLSTM; false where W or R is no constant.
  bool put_recurrent(const ChosenNode& chosen, WeightChooser& weights) {
    ir::Node& node = *chosen.weighted.node;
    const std::string_view op = ops::dynamic_recurrent(node);
    if (op.empty() || chosen.weighted.weights.size() != 2) return false;
    patch_.emitter().set_origin(rewrite::name_of(node));
    const ops::Emit at = patch_.before(&node);
    std::vector<ir::Value*> operands(node.inputs().begin(), node.inputs().end());
    operands.resize(12, nullptr);
    for (size_t i = 0; i < 2; ++i) {
      const WeightOperand& weight = chosen.weighted.weights[i];
      const WeightScales& scales = weights.of(weight, options_of(chosen));
      operands[static_cast<size_t>(weight.input)] =
          at.transpose(constants_.constants_of(weight.value, scales).codes, {0, 2, 1});
      // Directions share the scales of their rows.
      const int64_t directions = weight.tensor->dims[0], rows = scales.channels.count;
      std::vector<float> numbers;
      std::vector<std::byte> zeros;
      for (int64_t k = 0; k < directions; ++k)
        for (const Affine& affine : scales.affine) {
          numbers.push_back(affine.scale);
          zeros.push_back(static_cast<std::byte>(affine.zero));
        }
      const std::vector<int64_t> dims =
          scales.channels.axis < 0 ? std::vector<int64_t>{directions} : std::vector<int64_t>{directions, rows};
      operands[8 + 2 * i] = at.floats(dims, numbers);
      operands[9 + 2 * i] = at.writer().constant(ir::Tensor::from_bytes({}, scales.codes.type, dims, std::move(zeros)));
    }
    rewrite::NodeSpec spec{.op = op, .inputs = std::move(operands), .domain = ops::kMicrosoft, .outputs = {}};
    for (const ir::Attribute& given : node.attributes())
      if (given.name != "layout") spec.attributes.push_back(given);
    for (const ir::Value* output : node.outputs()) spec.outputs.push_back(output != nullptr);
    const std::vector<ir::Value*> made = patch_.emitter().write(*node.graph(), &node, std::move(spec));
    for (int i = 0; i < static_cast<int>(made.size()); ++i)
      if (made[static_cast<size_t>(i)]) patch_.replace_by_new(node.output(i), made[static_cast<size_t>(i)]);
    node.graph()->remove_node(&node);
    return true;
  }

 private:
  struct Measured {
    ir::Value *codes = nullptr, *scale = nullptr, *zero = nullptr;
  };

  // Once for all that read it, behind what makes it.
  const Measured& measured(ir::Value* value) {
    Measured& made = measured_[value];
    if (made.codes) return made;
    ir::Graph& graph = *value->graph();
    ir::Node* before = value->producer() ? graph.next(value->producer()) : graph.nodes().front();
    const auto add = [&](const char* what) { return graph.add_value(graph.unique_name(value->name() + what)); };
    made = {add("_quantized"), add("_scale"), add("_zero_point")};
    graph.add_node("DynamicQuantizeLinear", "", {value}, {made.codes, made.scale, made.zero},
                   graph.unique_name(value->name() + "_DynamicQuantizeLinear"), before);
    return made;
  }

  static bool has_zero_points(const WeightScales& scales) {
    return std::ranges::any_of(scales.affine, [](const Affine& affine) { return affine.zero != 0; });
  }

  static std::vector<ir::Value*> trimmed(std::vector<ir::Value*> operands) {
    while (!operands.back()) operands.pop_back();
    return operands;
  }

  static ir::Value* scale_constant(const ops::Emit& at, const WeightScales& scales, std::vector<int64_t> dims,
                                   float factor) {
    std::vector<float> numbers;
    for (const Affine& affine : scales.affine) numbers.push_back(affine.scale * factor);
    if (dims.empty() && scales.channels.axis >= 0) dims = {scales.channels.count};
    return at.floats(dims, numbers);
  }

  static ir::Value* scaled(const ops::Emit& at, ir::Value* sum, const Measured& x, ir::Value* weight_scale) {
    return at.mul(at.cast(sum, DataType::kFloat), at.mul(x.scale, weight_scale));
  }

  rewrite::Patch& patch_;
  QdqWriter& constants_;
  std::unordered_map<ir::Value*, Measured> measured_;
};

// Why a node whose weights could be codes has no form of integers; empty where it has one, or needs none.
std::string why_no_integers(const ChosenNode& node, const ops::Target& target, int64_t opset) {
  if (node.weighted.kernel == Int8Kernel::kConvolution && !ops::takes_integer_convolutions(target, opset))
    return fmt::format("{} has no kernel of ConvInteger", target.title);
  if (node.weighted.kernel == Int8Kernel::kRecurrent || ops::has_integer_form(*node.weighted.node)) return {};
  return fmt::format("there is no {} of integers", ir::operator_name(*node.weighted.node));
}

}  // namespace

int to_dynamic(Context& context) {
  ir::Model& model = context.model;
  rewrite::Changes& changes = context.changes;
  const size_t made_before = changes.made.size();
  const Wanted wanted = [&](const ir::Node& node) -> const Int8Options* {
    const Int8Options* options = context.wanted(node);
    return options && options->dynamic ? options : nullptr;
  };
  const infer::Result& facts = context.facts().result();
  std::vector<LeftNode> left;
  std::vector<ChosenNode> nodes = choose_weighted(model, facts, wanted, left);
  std::erase_if(nodes, [&](const ChosenNode& node) {
    std::string why = why_no_integers(node, context.target, model.opset("").value_or(1));
    if (why.empty()) return false;
    left.push_back({node.weighted.node, std::move(why)});
    return true;
  });
  std::vector<Lookup> lookups = choose_lookups(model, wanted);
  leave_unsupported(lookups, model, facts, context.target, left);
  WeightChooser weights;
  for (const ChosenNode& node : nodes)
    for (const WeightOperand& weight : node.weighted.weights) weights.of(weight, options_of(node));
  for (const Lookup& lookup : lookups) weights.of_rows(lookup);

  for (const LeftNode& each : left) note(*each.node, each.why, changes);
  for (const ChosenNode& node : nodes) note(*node.weighted.node, {}, changes);
  for (const Lookup& lookup : lookups) note(*lookup.node, {}, changes);
  rewrite::Patch patch(model, {});
  QdqWriter constants(model, context.samples ? context.samples->remembered() : nullptr);
  IntegerWriter writer(patch, constants);
  for (const Lookup& lookup : lookups) constants.put_rows(lookup, weights.of_rows(lookup));
  for (const ChosenNode& node : nodes) {
    const WeightScales& scales = weights.of(node.weighted.weights.front(), options_of(node));
    const bool has_recurrent =
        ops::takes_dynamic_recurrent(context.target, ops::dynamic_recurrent(*node.weighted.node));
    if (node.weighted.kernel == Int8Kernel::kProduct) {
      writer.put_product(node, scales);
    } else if (node.weighted.kernel == Int8Kernel::kConvolution) {
      writer.put_convolution(node, scales);
    } else if (!has_recurrent || !writer.put_recurrent(node, weights)) {
      for (const WeightOperand& weight : node.weighted.weights)
        constants.put_weight(*node.weighted.node, weight, weights.of(weight, options_of(node)), false);
    }
  }
  patch.apply();
  context.forget_facts();
  return static_cast<int>(changes.made.size() - made_before);
}

}  // namespace thaw::quantizing::int8
