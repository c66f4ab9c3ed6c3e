#include "thaw/quant/blocks/awq.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <tbb/parallel_for.h>

#include "thaw/ir/data/floats.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/blocks/matrix_kernels.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int kPowers = 20;
constexpr int64_t kGroupsLookedAt = 8;  // tiles of columns of each weight that stand for all

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

// x^T x of the errors of sixteen columns, [k, kLanes].
double output_error(std::span<const float> errors, const ColumnStatistics& statistics) {
  const int64_t k = statistics.k();
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    const float* here = errors.data() + i * kLanes;
    if (!statistics.has_products()) {
      for (int lane = 0; lane < kLanes; ++lane)
        sum += static_cast<double>(here[lane]) * here[lane] * statistics.sum_squares[static_cast<size_t>(i)];
      continue;
    }
    float met[kLanes] = {};
    const float* row = statistics.products.data() + i * k;
    add_scaled_rows(errors.data(), static_cast<size_t>(k), kLanes, row, met, kLanes);
    for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(here[lane]) * met[lane];
  }
  return sum;
}

// How far the outputs of sixteen columns are off when their rows are scaled so. `importance` may be empty.
double error_of(const WeightMatrix& weight, const WeightMatrix::StoredRows& rows, int64_t first_n, const Scales& scales,
                std::span<const float> importance, const BlockFormat& format, const ColumnStatistics& statistics) {
  const int64_t k = weight.k();
  const int lanes = static_cast<int>(std::min<int64_t>(kLanes, weight.n() - first_n));
  const auto tile = std::make_unique_for_overwrite<Tile>();
  std::vector<uint8_t> codes(static_cast<size_t>(format.block) * kLanes);
  std::vector<float> errors(static_cast<size_t>(k * kLanes));
  TileScales chosen;
  for (int64_t first = 0; first < k; first += format.block) {
    tile->count = static_cast<int>(std::min(format.block, k - first));
    tile->weighted = !importance.empty();
    weight.read(rows, first, tile->count, first_n, lanes, tile->weights);
    for (int i = 0; i < tile->count * kLanes; ++i) tile->weights[i] *= scales[static_cast<size_t>(first + i / kLanes)];
    for (int i = 0; tile->weighted && i < tile->count; ++i) {
      const auto place = static_cast<size_t>(first + i);
      tile->importance[i] = importance[place] / (scales[place] * scales[place]);
    }
    (format.real_zeros ? search_real : search)(*tile, format, chosen);
    encode(*tile, format, chosen, codes.data());
    for (int i = 0; i < tile->count * kLanes; ++i) {
      const int lane = i % kLanes;
      const float decoded =
          (static_cast<float>(codes[static_cast<size_t>(i)]) - chosen.zero[lane]) * chosen.scale[lane];
      errors[static_cast<size_t>(first * kLanes + i)] =
          (tile->weights[i] - decoded) / scales[static_cast<size_t>(first + i / kLanes)];
    }
  }
  return output_error(errors, statistics);
}

}  // namespace

RowScaling awq_scales(std::span<const WeightMatrix> weights, const BlockFormat& format,
                      const ColumnStatistics& statistics, std::span<const float> importance) {
  std::vector<Scales> powers;
  for (int power = 0; power <= kPowers; ++power)
    powers.push_back(scales_of(statistics, static_cast<double>(power) / kPowers));
  // Each power with importance, then each without.
  const size_t ways = importance.empty() ? 1 : 2;
  std::vector<double> errors(powers.size() * ways, 0.0);
  for (const WeightMatrix& weight : weights) {
    const WeightMatrix::All all(weight);
    const int64_t groups = (weight.n() + kLanes - 1) / kLanes, looked_at = std::min(groups, kGroupsLookedAt);
    std::mutex adding;
    tbb::parallel_for(int64_t{0}, looked_at * static_cast<int64_t>(errors.size()), [&](int64_t task) {
      const auto tried = static_cast<size_t>(task / looked_at);
      const int64_t group = task % looked_at * groups / looked_at;
      const double error = error_of(weight, all.rows(), group * kLanes, powers[tried % powers.size()],
                                    tried < powers.size() ? importance : std::span<const float>(), format, statistics);
      const std::lock_guard lock(adding);
      errors[tried] += error;
    });
    weight.release(0, weight.k(), 0, weight.n());
  }
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

// The constant operands of the node before, each a number for each place of k, that scale its output; empty where there
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
