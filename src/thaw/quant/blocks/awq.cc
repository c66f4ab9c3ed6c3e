#include "thaw/quant/blocks/awq.h"

#include <algorithm>
#include <cmath>

#include "thaw/ir/data/floats.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/blocks/searched_error.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int kPowers = 20;

using Scales = std::vector<float>;

// Inputs' mean magnitudes to a power, their extremes on both sides of 1. An input that was never seen counts as the
// smallest that was.
Scales scales_of(const ColumnStatistics& statistics, double power) {
  double least = 0;
  for (const double sum : statistics.sum_abs)
    if (sum > 0 && (least == 0 || sum < least)) least = sum;
  Scales scales;
  for (const double sum : statistics.sum_abs)
    scales.push_back(static_cast<float>(std::pow(std::max(sum, least), power)));
  const auto [low, high] = std::ranges::minmax_element(scales);
  const float middle = std::sqrt(*low) * std::sqrt(*high);
  for (float& scale : scales) scale /= middle;
  return scales;
}

}  // namespace

RowScaling awq_scales(std::span<const WeightMatrix> weights, const BlockFormat& format,
                      const ColumnStatistics& statistics, const Importance& importance) {
  std::vector<Scales> powers;
  for (int power = 0; power <= kPowers; ++power)
    powers.push_back(scales_of(statistics, static_cast<double>(power) / kPowers));
  // Each power with importance, then each without.
  std::vector<SearchWay> ways;
  for (const Scales& scales : powers) ways.push_back({scales, importance.empty() ? nullptr : &importance});
  if (!importance.empty())
    for (const Scales& scales : powers) ways.push_back({scales});
  const std::vector<double> errors = searched_errors(weights, ways, format, statistics);
  const auto best = static_cast<size_t>(std::ranges::min_element(errors) - errors.begin());
  const size_t power = best % powers.size();
  RowScaling chosen{.scales = nullptr, .by_importance = best < powers.size()};
  if (power > 0) chosen.scales = std::make_shared<const std::vector<float>>(std::move(powers[power]));
  return chosen;
}

namespace {

ir::Tensor divided(const ir::Tensor& tensor, const Scales& scales) {
  Scales numbers(scales.size());
  ir::to_floats(tensor.data_type, tensor.bytes().data(), numbers);
  for (size_t i = 0; i < scales.size(); ++i) numbers[i] /= scales[i];
  std::vector<std::byte> bytes(tensor.bytes().size());
  ir::from_floats(numbers, tensor.data_type, bytes.data());
  return ir::Tensor::from_bytes({}, tensor.data_type, tensor.dims, std::move(bytes));
}

// The constant operands of the node before, each a number for each position of k, that scale its output; empty where there
// are none, or others would see them change.
std::vector<int> foldable(const ir::Value* x, std::span<ir::Node* const> nodes, int64_t k, ir::DataType type) {
  const ir::Node* before = x->producer();
  if (!before || x->is_output() || !x->graph()->returned_by(x).empty() || before->output(0) != x) return {};
  size_t reads = 0;
  for (const ir::Node* node : nodes) reads += static_cast<size_t>(std::ranges::count(node->inputs(), x));
  if (reads != x->uses().size()) return {};
  std::vector<int> operands = ops::operands_that_scale(*before);
  for (const int i : operands) {
    const ir::Value* value = before->input(i);
    const ir::Tensor* tensor = value && !value->is_input() ? value->constant() : nullptr;
    if (!tensor || tensor->data_type != type || tensor->dims != std::vector<int64_t>{k}) return {};
  }
  return operands;
}

}  // namespace

void divide_input(ir::Model& model, infer::Inference& facts, ir::Value* x, std::span<ir::Node* const> nodes,
                  const std::vector<float>& scales) {
  const auto k = static_cast<int64_t>(scales.size());
  const ir::DataType type = facts.fact(x).dtype;
  rewrite::Patch patch(model, {});
  const std::vector<int> operands = foldable(x, nodes, k, type);
  if (!operands.empty()) {
    ir::Node* before = x->producer();
    for (const int i : operands) {
      ir::Tensor tensor = divided(*before->input(i)->constant(), scales);
      tensor.name = before->graph()->unique_name(before->input(i)->name() + "_awq");
      before->set_input(i, before->graph()->add_initializer(std::move(tensor)));
    }
    // It holds other numbers now: equal names mean equal tensors.
    x->graph()->rename(x, x->graph()->unique_name(x->name() + "_awq"));
    return patch.apply(facts);
  }
  std::vector<float> inverse;
  for (const float scale : scales) inverse.push_back(1 / scale);
  std::vector<std::byte> bytes(inverse.size() * static_cast<size_t>(ir::bits_of(type)) / 8);
  ir::from_floats(inverse, type, bytes.data());
  patch.emitter().set_origin(rewrite::name_of(*nodes.front()));
  const ir::Tensor factors = ir::Tensor::from_bytes({}, type, {k}, std::move(bytes));
  for (ir::Node* node : nodes) {
    const ops::Emit at = patch.before(node);
    ir::Value* scaled = at.mul(x, at.writer().constant(factors));
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
      if (node->input(i) == x) node->set_input(i, scaled);
  }
  patch.apply(facts);
}

}  // namespace thaw::quantizing::blocks
