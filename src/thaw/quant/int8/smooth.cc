// SmoothQuant (Xiao et al. 2022).
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/disjoint_sets.h"
#include "thaw/infer/inference.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/scaled_weight.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::int8 {
namespace {

// A channel whose factor is beyond is an accident of one of the two sides.
constexpr double kMostFactor = 1e4;

// Products that read one value, or a weight in common: all of them are scaled alike, so that a weight stays one tensor.
struct SmoothedGroup {
  double alpha = 0;
  int64_t width = 0;
  std::vector<std::pair<ir::Value*, std::vector<ir::Node*>>> by_input;
  std::vector<std::pair<const ir::Value*, int64_t>> weights;  // and inner: e has position e / inner % width
};

// Whether it is a product whose input can be divided; `why` says why one that was asked for is not.
bool can_be_scaled(const ChosenNode& chosen, const infer::Result& facts, std::string& why) {
  const WeightedNode& node = chosen.weighted;
  const auto form = ops::weight_product(*node.node);
  if (chosen.options->smooth <= 0 || !form) return false;
  if (form->x_is_transposed || node.data != 0) why = "its activation is transposed, or the right operand";
  if (node.weights.front().behind_transpose) why = "its weight is transposed";
  return why.empty() && node.weights.front().tensor->dims.size() == 2 && facts.fact(node.node->input(0)).rank() >= 1;
}

class SmoothGrouper {
 public:
  SmoothGrouper(ir::Model& model, const infer::Result& facts, const Wanted& wanted, rewrite::Changes& changes)
      : facts_(facts), changes_(changes) {
    std::vector<LeftNode> left;
    chosen_ = choose_weighted(model, facts, wanted, left);
    for (const Lookup& lookup : choose_lookups(model, wanted))
      why_not_[lookup.table.value] = "its weight is also looked up: scaled, it would be stored twice";
    main_ = model.graph.get();
  }

  std::vector<SmoothedGroup> run() {
    std::vector<const ChosenNode*> scaled;
    for (const ChosenNode& node : chosen_) {
      std::string why;
      if (node.weighted.node->graph() == main_ && can_be_scaled(node, facts_, why)) {
        scaled.push_back(&node);
        continue;
      }
      for (const WeightOperand& weight : node.weighted.weights)
        why_not_.try_emplace(
            weight.value, fmt::format("its weight is also read by '{}', which is not scaled: it would be stored twice",
                                      rewrite::name_of(*node.weighted.node)));
      if (!why.empty()) leave(node, why);
    }
    for (const ChosenNode* node : scaled) refuse_other_axes(*node);
    std::erase_if(scaled, [&](const ChosenNode* node) {
      const auto why = why_not_.find(node->weighted.weights.front().value);
      if (why != why_not_.end()) leave(*node, why->second);
      return why != why_not_.end();
    });
    return united(scaled);
  }

 private:
  void leave(const ChosenNode& node, const std::string& why) {
    changes_.left.push_back({.kind = "smooth",
                             .location = rewrite::name_of(*node.weighted.node),
                             .part = {},
                             .replaced = {},
                             .nodes = 0,
                             .why = why});
  }

  // A weight that is summed along both of its axes has no place that one factor is for.
  void refuse_other_axes(const ChosenNode& node) {
    const WeightOperand& weight = node.weighted.weights.front();
    const bool is_transposed = ops::weight_product(*node.weighted.node)->weight_is_transposed;
    const auto [at, fresh] = is_transposed_.try_emplace(weight.value, is_transposed);
    if (!fresh && at->second != is_transposed)
      why_not_.try_emplace(weight.value, "its weight is also read transposed: scaled, it would be stored twice");
  }

  std::vector<SmoothedGroup> united(const std::vector<const ChosenNode*>& nodes) {
    DisjointSets united(nodes.size());
    std::unordered_map<const ir::Value*, size_t> first_of;  // that reads it, as input or as weight
    for (size_t i = 0; i < nodes.size(); ++i)
      for (const ir::Value* read : {nodes[i]->weighted.node->input(0), nodes[i]->weighted.weights.front().value})
        united.join(first_of.try_emplace(read, i).first->second, i);
    std::vector<SmoothedGroup> groups;
    std::unordered_map<size_t, size_t> group_of;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto [at, fresh] = group_of.try_emplace(united.first_of(i), groups.size());
      if (fresh) groups.emplace_back();
      add(*nodes[i], groups[at->second]);
    }
    return groups;
  }

  static void add(const ChosenNode& chosen, SmoothedGroup& group) {
    const auto first_of = [](const auto& pair) { return pair.first; };
    ir::Node* node = chosen.weighted.node;
    const WeightOperand& weight = chosen.weighted.weights.front();
    const bool is_transposed = ops::weight_product(*node)->weight_is_transposed;
    group.alpha = group.alpha > 0 ? group.alpha : chosen.options->smooth;
    group.width = weight.tensor->dims[is_transposed ? 1 : 0];
    if (std::ranges::find(group.weights, weight.value, first_of) == group.weights.end())
      group.weights.emplace_back(weight.value, is_transposed ? 1 : weight.tensor->dims[1]);
    const auto at = std::ranges::find(group.by_input, node->input(0), first_of);
    (at == group.by_input.end() ? group.by_input.emplace_back(node->input(0), std::vector<ir::Node*>()) : *at)
        .second.push_back(node);
  }

  const infer::Result& facts_;
  rewrite::Changes& changes_;
  const ir::Graph* main_ = nullptr;
  std::vector<ChosenNode> chosen_;
  std::unordered_map<const ir::Value*, std::string> why_not_;  // by weights
  std::unordered_map<const ir::Value*, bool> is_transposed_;
};

std::vector<float> factors_of(const SmoothedGroup& group, const std::map<std::string, PositionStatistics>& seen) {
  std::vector<double> inputs(static_cast<size_t>(group.width), 0), weights = inputs;
  for (const auto& [x, nodes] : group.by_input) {
    const std::vector<double>& largest = seen.at(x->name()).largest;
    if (largest.size() != inputs.size()) return {};
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = std::max(inputs[k], largest[k]);
  }
  for (const auto& [weight, inner] : group.weights) {
    const std::vector<double> here = largest_of(*weight->constant(), group.width, inner);
    for (size_t k = 0; k < weights.size(); ++k) weights[k] = std::max(weights[k], here[k]);
  }
  std::vector<float> factors;
  for (size_t k = 0; k < weights.size(); ++k) {
    // What was never seen, or never counts, is left as it is.
    const bool is_used = inputs[k] > 0 && weights[k] > 0;
    const double factor = is_used ? std::pow(inputs[k], group.alpha) / std::pow(weights[k], 1 - group.alpha) : 1;
    factors.push_back(static_cast<float>(std::clamp(factor, 1 / kMostFactor, kMostFactor)));
  }
  return factors;
}

}  // namespace

int smooth(Context& context) {
  ir::Model& model = context.model;
  infer::Inference& facts = context.facts();
  const std::vector<SmoothedGroup> groups = SmoothGrouper(model, facts.result(), context.wanted, context.changes).run();
  std::map<std::string, PositionsRequest> requests;
  for (const SmoothedGroup& group : groups)
    for (const auto& [x, nodes] : group.by_input) requests[x->name()] = {.axis = -1, .rank = facts.fact(x).rank()};
  const std::map<std::string, PositionStatistics> seen = measured_positions(model, requests, *context.samples);
  ir::Graph& graph = *model.graph;
  int count = 0;
  for (const SmoothedGroup& group : groups) {
    const std::vector<float> factors = factors_of(group, seen);
    if (factors.empty()) continue;
    ++count;
    std::unordered_map<const ir::Value*, ir::Value*> scaled_weights;
    for (const auto& [weight, inner] : group.weights)
      scaled_weights[weight] = graph.add_initializer(
          scaled(*weight->constant(), graph.unique_name(weight->name() + "_smooth"), factors, inner));
    for (const auto& [x, nodes] : group.by_input) {
      for (ir::Node* node : nodes) node->set_input(1, scaled_weights.at(stored_weight(node->input(1))->value));
      blocks::divide_input(model, facts, x, nodes, factors);
    }
  }
  context.forget_facts();
  return count;
}

}  // namespace thaw::quantizing::int8
