// Bias correction (Nagel et al. 2019).
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/weight_chooser.h"
#include "thaw/quant/weights/stored_weight.h"
#include "thaw/rewrite/patch.h"

namespace thaw::quantizing::int8 {
namespace {

using ops::Int8Kernel;

// Which channel of the result, and which of the input, an element of a weight belongs to.
struct WeightLayout {
  int64_t outputs = 1, inputs = 1;  // channels
  int64_t output_inner = 1, input_inner = 1, input_positions = 1;
  int64_t maps_of_group = 0;  // of a convolution

  int64_t output_of(int64_t element) const { return element / output_inner % outputs; }
  int64_t input_of(int64_t element) const {
    const int64_t position = element / input_inner % input_positions;
    return maps_of_group > 0 ? output_of(element) / maps_of_group * input_positions + position : position;
  }
};

std::optional<WeightLayout> layout_of(const ChosenNode& chosen) {
  const ir::Node& node = *chosen.weighted.node;
  const WeightOperand& weight = chosen.weighted.weights.front();
  const std::vector<int64_t>& dims = weight.tensor->dims;
  WeightLayout layout;
  if (chosen.weighted.kernel == Int8Kernel::kConvolution) {
    // Of a transposed one the groups lie otherwise.
    if (weight.axis != 0) return std::nullopt;
    const int64_t groups = std::max<int64_t>(1, node.attribute_int("group", 1));
    layout = {.outputs = dims[0], .inputs = dims[1] * groups, .input_positions = dims[1]};
    for (size_t k = 2; k < dims.size(); ++k) layout.input_inner *= dims[k];
    layout.output_inner = layout.input_inner * dims[1];
    layout.maps_of_group = dims[0] / groups;
    return layout.maps_of_group > 0 && dims[0] % groups == 0 ? std::optional(layout) : std::nullopt;
  }
  const auto form = ops::weight_product(node);
  if (!form || form->x_is_transposed || chosen.weighted.data != 0 || dims.size() != 2 || form->alpha != 1)
    return std::nullopt;
  const bool is_transposed = form->weight_is_transposed != weight.behind_transpose;
  layout = {.outputs = dims[is_transposed ? 0 : 1], .inputs = dims[is_transposed ? 1 : 0]};
  layout.output_inner = is_transposed ? dims[1] : 1;
  layout.input_inner = is_transposed ? 1 : dims[1];
  layout.input_positions = layout.inputs;
  return layout;
}

// How far the mean of each channel of the result is off.
std::vector<double> shifts(const ir::Tensor& weight, const WeightScales& scales, const WeightLayout& layout,
                           std::span<const double> means) {
  std::vector<double> sums(static_cast<size_t>(layout.outputs), 0);
  for_chunks(weight, [&](int64_t first, std::span<const float> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t element = first + static_cast<int64_t>(i);
      const Affine& affine = scales.affine[static_cast<size_t>(scales.channels.of(element))];
      const float rounded = number_of(code_of(numbers[i], affine, scales.codes), affine);
      sums[static_cast<size_t>(layout.output_of(element))] +=
          (static_cast<double>(rounded) - static_cast<double>(numbers[i])) *
          means[static_cast<size_t>(layout.input_of(element))];
    }
  });
  return sums;
}

// The operand that a bias is or could be; -1 where there is none, or it is computed.
int bias_operand(const ChosenNode& chosen) {
  const ir::Node& node = *chosen.weighted.node;
  if (chosen.weighted.bias >= 0) return chosen.weighted.bias;
  const bool may_have_one = ops::role_of(node, 2) == ops::Role::kBias && node.inputs().size() <= 2;
  return may_have_one ? 2 : -1;
}

void take_off(ir::Model& model, const ChosenNode& chosen, std::span<const double> shift) {
  ir::Node& node = *chosen.weighted.node;
  ir::Graph& graph = *model.graph;
  const int operand = bias_operand(chosen);
  std::vector<float> numbers;
  if (operand >= 0 && node.input(operand)) {
    const std::vector<double> before = stored_weight(node.input(operand))->tensor->to_double();
    if (before.size() != shift.size()) return;
    for (size_t i = 0; i < shift.size(); ++i) numbers.push_back(static_cast<float>(before[i] - shift[i]));
  } else {
    for (const double each : shift) numbers.push_back(static_cast<float>(-each));
  }
  const std::string& name = operand >= 0 && node.input(operand) ? node.input(operand)->name() : node.output(0)->name();
  ir::Value* bias = graph.add_initializer(
      ir::Tensor::from_float(graph.unique_name(name + "_corrected"), {static_cast<int64_t>(numbers.size())}, numbers));
  if (operand >= 0) {
    node.set_input(operand, bias);
    return;
  }
  if (node.inputs().size() > 2) return;  // a computed bias, or one of more axes
  rewrite::Patch patch(model, {});
  ir::Value* y = node.output(0);
  ir::Value* sum = patch.after(&node).add(y, bias);
  ir::Node* add = sum->producer();
  patch.replace_by_new(y, sum);
  // What it adds to is what was made.
  for (int i = 0; i < 2; ++i)
    if (add->input(i) == sum) add->set_input(i, y);
  patch.apply();
}

}  // namespace

int correct_bias(Context& context) {
  ir::Model& model = context.model;
  const infer::Result& facts = context.facts().result();
  std::vector<LeftNode> left;
  struct Corrected {
    ChosenNode node;
    WeightLayout layout;
    std::string input;
  };
  std::vector<Corrected> corrected;
  std::map<std::string, PositionsRequest> requests;
  for (const ChosenNode& node : choose_weighted(model, facts, context.wanted, left)) {
    if (!node.options->correct_bias || node.weighted.kernel == Int8Kernel::kRecurrent) continue;
    if (node.weighted.node->graph() != model.graph.get()) continue;
    const auto layout = layout_of(node);
    const ir::Value* x = node.weighted.node->input(node.weighted.data);
    const int rank = facts.fact(x).rank();
    if (!layout || rank < 2) continue;
    requests[x->name()] = {.axis = node.weighted.kernel == Int8Kernel::kConvolution ? 1 : -1, .rank = rank};
    corrected.push_back({node, *layout, x->name()});
  }
  const std::map<std::string, PositionStatistics> seen = measured_positions(model, requests, *context.samples);
  WeightChooser weights;
  int count = 0;
  for (const Corrected& each : corrected) {
    const std::vector<double>& means = seen.at(each.input).mean;
    if (static_cast<int64_t>(means.size()) != each.layout.inputs) continue;
    const WeightOperand& weight = each.node.weighted.weights.front();
    take_off(model, each.node, shifts(*weight.tensor, weights.of(weight, *each.node.options), each.layout, means));
    ++count;
  }
  context.forget_facts();
  return count;
}

}  // namespace thaw::quantizing::int8
