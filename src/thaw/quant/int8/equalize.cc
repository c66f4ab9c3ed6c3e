// Cross-layer equalization (Nagel et al. 2019).
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/int8/coded_weight.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/scaled_weight.h"
#include "thaw/quant/weights/stored_weight.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr int kRounds = 16;
constexpr double kEven = 1e-3;  // of a factor: no round is needed after it

// A convolution's weight [feature maps, channels of a group, window...], and what its parts are multiplied by.
struct Kernel {
  ir::Node* node = nullptr;
  int64_t maps = 0, depth = 0, groups = 1, window = 1;
  std::vector<double> largest;  // [maps, depth]: over the window
  std::vector<double> by_map;   // factors so far
  std::vector<double> by_channel;

  int64_t channels() const { return depth * groups; }
  int64_t channel_of(int64_t map, int64_t k) const { return map / (maps / groups) * depth + k; }

  template <typename Each>
  void for_parts(Each each) const {
    for (int64_t map = 0; map < maps; ++map)
      for (int64_t k = 0; k < depth; ++k) {
        const auto channel = static_cast<size_t>(channel_of(map, k));
        const double factor = by_map[static_cast<size_t>(map)] * by_channel[channel];
        each(static_cast<size_t>(map), channel, factor, largest[static_cast<size_t>(map * depth + k)] * factor);
      }
  }

  std::vector<double> map_ranges() const {
    std::vector<double> ranges(by_map.size(), 0);
    for_parts([&](size_t map, size_t, double, double part) { ranges[map] = std::max(ranges[map], part); });
    return ranges;
  }
  std::vector<double> channel_ranges() const {
    std::vector<double> ranges(by_channel.size(), 0);
    for_parts([&](size_t, size_t channel, double, double part) { ranges[channel] = std::max(ranges[channel], part); });
    return ranges;
  }
};

Kernel kernel_of(const ChosenNode& chosen) {
  const ir::Tensor& weight = *chosen.weighted.weights.front().tensor;
  Kernel kernel{.node = chosen.weighted.node, .maps = weight.dims[0], .depth = weight.dims[1]};
  kernel.groups = std::max<int64_t>(1, chosen.weighted.node->attribute_int("group", 1));
  for (size_t k = 2; k < weight.dims.size(); ++k) kernel.window *= weight.dims[k];
  kernel.largest = largest_of(weight, kernel.maps * kernel.depth, kernel.window);
  kernel.by_map.assign(static_cast<size_t>(kernel.maps), 1);
  kernel.by_channel.assign(static_cast<size_t>(kernel.channels()), 1);
  return kernel;
}

// Channels along the first axis, and nothing but this node reads the weight.
bool is_plain(const ChosenNode& chosen) {
  const WeightOperand& weight = chosen.weighted.weights.front();
  return chosen.options->equalize && chosen.weighted.kernel == ops::Int8Kernel::kConvolution && weight.axis == 0 &&
         weight.value->uses().size() == 1 && chosen.weighted.node->input(1)->uses().size() == 1 &&
         (chosen.weighted.bias >= 0 || !chosen.weighted.node->input(2)) &&
         weight.tensor->dims[0] % std::max<int64_t>(1, chosen.weighted.node->attribute_int("group", 1)) == 0;
}

class Equalizer {
 public:
  explicit Equalizer(ir::Graph& graph) : graph_(graph) {}

  int run(const std::vector<ChosenNode>& chosen) {
    for (const ChosenNode& node : chosen) {
      if (!is_plain(node) || node.weighted.node->graph() != &graph_) continue;
      index_[node.weighted.node] = kernels_.size();
      kernels_.push_back(kernel_of(node));
    }
    for (size_t i = 0; i < kernels_.size(); ++i)
      if (const auto next = next_of(*kernels_[i].node); next && kernels_[*next].channels() == kernels_[i].maps)
        pairs_.emplace_back(i, *next);
    for (int round = 0; round < kRounds; ++round) {
      double most = 0;
      for (const auto& [first, second] : pairs_) most = std::max(most, even_out(kernels_[first], kernels_[second]));
      if (most < kEven) break;
    }
    if (!pairs_.empty())
      for (const Kernel& kernel : kernels_) write(kernel);
    for (const auto& [first, second] : pairs_) rename_between(kernels_[first].node, kernels_[second].node);
    return static_cast<int>(pairs_.size());
  }

 private:
  // The convolution that alone reads what this one makes.
  std::optional<size_t> next_of(const ir::Node& node) const {
    const ir::Value* value = node.output(0);
    for (;;) {
      if (value->uses().size() != 1 || value->is_output() || !graph_.returned_by(value).empty()) return std::nullopt;
      const ir::Node* reader = value->uses()[0].node;
      if (reader->graph() != &graph_ || value->uses()[0].index != 0) return std::nullopt;
      if (const auto found = index_.find(reader); found != index_.end()) return found->second;
      if (!ops::keeps_factors_of_channels(*reader)) return std::nullopt;
      value = reader->output(0);
    }
  }

  // Returns by how much a factor was off.
  static double even_out(Kernel& first, Kernel& second) {
    const std::vector<double> made = first.map_ranges(), read = second.channel_ranges();
    double most = 0;
    for (size_t i = 0; i < made.size(); ++i) {
      if (!(made[i] > 0) || !(read[i] > 0)) continue;
      const double factor = std::sqrt(made[i] / read[i]);
      if (!std::isfinite(factor) || factor == 0) continue;
      first.by_map[i] /= factor;
      second.by_channel[i] *= factor;
      most = std::max(most, std::fabs(factor - 1));
    }
    return most;
  }

  void write(const Kernel& kernel) {
    ir::Node& node = *kernel.node;
    std::vector<float> factors, of_bias;
    kernel.for_parts([&](size_t, size_t, double factor, double) { factors.push_back(static_cast<float>(factor)); });
    if (std::ranges::all_of(factors, [](float factor) { return factor == 1; })) return;
    put(node, 1, std::move(factors), kernel.window);
    if (!node.input(2)) return;
    for (const double factor : kernel.by_map) of_bias.push_back(static_cast<float>(factor));
    put(node, 2, std::move(of_bias), 1);
  }

  // They hold other numbers now: equal names mean equal tensors.
  void rename_between(const ir::Node* first, const ir::Node* second) {
    for (ir::Value* value = first->output(0);; value = value->uses()[0].node->output(0)) {
      graph_.rename(value, graph_.unique_name(value->name() + "_equalized"));
      if (value->uses()[0].node == second) return;
    }
  }

  void put(ir::Node& node, int input, std::vector<float> factors, int64_t inner) {
    const ir::Value* old = stored_weight(node.input(input))->value;
    node.set_input(input,
                   graph_.add_initializer(scaled(*old->constant(), graph_.unique_name(old->name() + "_equalized"),
                                                 std::move(factors), inner)));
  }

  ir::Graph& graph_;
  std::vector<Kernel> kernels_;
  std::unordered_map<const ir::Node*, size_t> index_;
  std::vector<std::pair<size_t, size_t>> pairs_;
};

}  // namespace

int equalize(Context& context) {
  std::vector<LeftNode> left;
  const auto nodes = choose_weighted(context.model, context.facts().result(), context.wanted, left);
  const int count = Equalizer(*context.model.graph).run(nodes);
  context.forget_facts();
  return count;
}

}  // namespace thaw::quantizing::int8
