#include "thaw/quant/int8/smooth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/int8/chosen.h"
#include "thaw/quant/int8/scaled_weight.h"

namespace thaw::quantizing::int8 {
namespace {

// A channel whose factor is beyond is an accident of one of the two sides.
constexpr double kMostFactor = 1e4;

struct SmoothedGroup {
  ir::Value* x = nullptr;
  double alpha = 0;
  std::vector<ir::Node*> nodes;
  int64_t width = 0;
};

// How the summed axis lies in a matrix: element e has place e / inner % width.
int64_t inner_of(const ir::Node& node, const ir::Tensor& weight) {
  return ops::weight_product(node)->weight_is_turned ? 1 : weight.dims[1];
}

std::vector<SmoothedGroup> groups_of(ir::Model& model, const infer::Result& facts, const Wanted& wanted) {
  std::vector<LeftNode> left;
  std::vector<SmoothedGroup> groups;
  std::unordered_map<const ir::Value*, size_t> by_input;
  for (const ChosenNode& node : choose_weighted(model, facts, wanted, left)) {
    const WeightOperand& weight = node.weighted.weights.front();
    const auto form = ops::weight_product(*node.weighted.node);
    if (node.options->smooth <= 0 || !form || form->x_is_turned || node.weighted.data != 0) continue;
    if (weight.behind_transpose || weight.tensor->dims.size() != 2) continue;
    ir::Value* x = node.weighted.node->input(0);
    if (facts.fact(x).rank() < 1) continue;
    const auto [at, fresh] = by_input.try_emplace(x, groups.size());
    if (fresh) groups.push_back({.x = x, .alpha = node.options->smooth, .nodes = {}});
    SmoothedGroup& group = groups[at->second];
    group.nodes.push_back(node.weighted.node);
    group.width = weight.tensor->dims[form->weight_is_turned ? 1 : 0];
  }
  return groups;
}

std::vector<float> factors_of(const SmoothedGroup& group, std::span<const double> largest_inputs) {
  std::vector<double> weights(static_cast<size_t>(group.width), 0);
  for (const ir::Node* node : group.nodes) {
    const ir::Tensor& weight = *node->input(1)->constant();
    const std::vector<double> here = largest_of(weight, group.width, inner_of(*node, weight));
    for (size_t k = 0; k < weights.size(); ++k) weights[k] = std::max(weights[k], here[k]);
  }
  std::vector<float> factors;
  for (size_t k = 0; k < weights.size(); ++k) {
    // What was never seen, or never counts, is left as it is.
    const bool is_used = largest_inputs[k] > 0 && weights[k] > 0;
    const double factor =
        is_used ? std::pow(largest_inputs[k], group.alpha) / std::pow(weights[k], 1 - group.alpha) : 1;
    factors.push_back(static_cast<float>(std::clamp(factor, 1 / kMostFactor, kMostFactor)));
  }
  return factors;
}

}  // namespace

void smooth(ir::Model& model, const Wanted& wanted, const Samples& samples) {
  dim::Scope scope;
  infer::Inference facts(model, scope);
  const std::vector<SmoothedGroup> groups = groups_of(model, facts.result(), wanted);
  std::map<std::string, PlacesRequest> requests;
  for (const SmoothedGroup& group : groups)
    requests[group.x->name()] = {.axis = -1, .rank = facts.fact(group.x).rank()};
  const std::map<std::string, PlaceStatistics> seen = measured_places(model, requests, samples);
  for (const SmoothedGroup& group : groups) {
    const std::vector<double>& largest = seen.at(group.x->name()).largest;
    if (static_cast<int64_t>(largest.size()) != group.width) continue;
    const std::vector<float> factors = factors_of(group, largest);
    for (ir::Node* node : group.nodes) {
      const ir::Value* weight = node->input(1);
      const ir::Tensor& tensor = *weight->constant();
      ir::Graph& graph = *model.graph;
      node->set_input(1, graph.add_initializer(scaled(tensor, graph.unique_name(weight->name() + "_smooth"), factors,
                                                      inner_of(*node, tensor))));
    }
    blocks::divide_input(model, facts, group.x, group.nodes, factors);
  }
}

}  // namespace thaw::quantizing::int8
