// Static INT8: weights as codes, and activations through pairs of QuantizeLinear and DequantizeLinear.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/onnx/sensitive_range.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/qdq_writer.h"
#include "thaw/quant/int8/weight_chooser.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr Range kEveryNumber{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
constexpr Range kNoNumber{kEveryNumber.highest, kEveryNumber.lowest};

class UsefulRanges {
 public:
  explicit UsefulRanges(const ir::Graph& graph) : graph_(graph) {}

  // From the back: what reads a tensor stands behind what makes it.
  std::unordered_map<const ir::Value*, Range> run() {
    std::vector<const ir::Node*> backwards;
    for (const ir::Node* node : graph_.nodes()) backwards.push_back(node);
    std::ranges::reverse(backwards);
    for (const ir::Node* node : backwards)
      for (const ir::Value* output : node->outputs())
        if (output) add(*output);
    for (const ir::Value* input : graph_.inputs()) add(*input);
    return std::move(found_);
  }

 private:
  void add(const ir::Value& value) {
    if (value.is_output() || value.uses().empty()) return;
    Range all = kNoNumber;
    for (const ir::Use& use : value.uses()) {
      const Range sensitive = sensitive_range_of(use);
      all = {std::min(all.lowest, sensitive.lowest), std::max(all.highest, sensitive.highest)};
      if (std::isinf(all.lowest) && std::isinf(all.highest)) return;
    }
    if (graph_.returned_by(&value).empty()) found_.emplace(&value, all);
  }

  Range sensitive_range_of(const ir::Use& use) const {
    if (use.node->graph() != &graph_) return kEveryNumber;
    if (moves(use)) {
      const auto behind = found_.find(use.node->output(0));
      return behind == found_.end() ? kEveryNumber : behind->second;
    }
    const ops::SensitiveRange sensitive = ops::sensitive_range(*use.node, use.index);
    return {sensitive.lowest, sensitive.highest};
  }

  // All that it reads there goes into its one result as it is.
  static bool moves(const ir::Use& use) {
    const ops::Operator* op = ops::registry().find(*use.node);
    return op && op->op_class == ops::OpClass::kMovement && use.index == 0 && use.node->outputs().size() == 1;
  }

  const ir::Graph& graph_;
  std::unordered_map<const ir::Value*, Range> found_;
};

// What of a tensor's numbers makes a difference to those that read it: codes need not reach beyond.
// By tensors of the graph; those of which every number counts are not there. A convolution before a HardSwish need not tell
// apart what lies below -3, however far down it reaches.
std::unordered_map<const ir::Value*, Range> useful_ranges(const ir::Graph& graph) { return UsefulRanges(graph).run(); }

struct Scaled {
  Affine affine;
  Codes codes;
};
using TensorScales = std::unordered_map<const ir::Value*, Scaled>;

TensorScales measure(const ir::Model& model, const Chosen& chosen, const Samples& samples) {
  const ValueLocations locations(model);
  std::map<ValueLocation, RangeRequest> wanted;
  std::map<ValueLocation, const QuantizedTensor*> tensors;
  std::unordered_map<const ir::Graph*, std::unordered_map<const ir::Value*, Range>> useful;  // by graphs
  for (const QuantizedTensor& tensor : chosen.tensors) {
    if (tensor.scale_of != tensor.value) continue;
    const Int8Options& options = *tensor.options;
    const ir::Graph* graph = tensor.value->graph();
    const ValueLocation location = locations.of(*tensor.value);
    RangeRequest& request = wanted[location];
    request = {options.range, options.percentile, activation_codes(options), options.symmetric_activations};
    const auto [here, fresh] = useful.try_emplace(graph);
    if (fresh) here->second = useful_ranges(*graph);
    if (const auto at = here->second.find(tensor.value); at != here->second.end()) request.useful = at->second;
    tensors[location] = &tensor;
  }
  TensorScales scales;
  for (const auto& [location, range] : measured_ranges(model, wanted, samples)) {
    const RangeRequest& request = wanted.at(location);
    scales[tensors.at(location)->value] = {affine_of(range, request.codes, request.symmetric), request.codes};
  }
  return scales;
}

std::string why_weights_alone(const ir::Node& node) {
  return can_be_measured(*node.graph())
             ? "no sample runs its subgraph: only its weights are quantized"
             : fmt::format("nodes inside a {} are not measured: only its weights are quantized",
                           ir::operator_name(*node.graph()->parent_node()));
}

}  // namespace

int to_qdq(Context& context) {
  ir::Model& model = context.model;
  const Samples& samples = *context.samples;
  rewrite::Changes& changes = context.changes;
  const size_t made_before = changes.made.size();
  const Wanted wanted = [&](const ir::Node& node) -> const Int8Options* {
    const Int8Options* options = context.wanted(node);
    return options && !options->dynamic ? options : nullptr;
  };
  const infer::Result& facts = context.facts().result();
  Chosen chosen = choose(model, facts, wanted, [&](const std::set<const ir::Graph*>& graphs) {
    return graphs_that_run(model, graphs, samples);
  });
  leave_unsupported(chosen.lookups, model, facts, context.target, chosen.left);
  const TensorScales tensors = measure(model, chosen, samples);
  std::unordered_map<const ir::Value*, const ir::Value*> scale_of;
  for (const QuantizedTensor& tensor : chosen.tensors) scale_of[tensor.value] = tensor.scale_of;
  // 0 where the node reads what is quantized already.
  const auto data_scale = [&](const ChosenNode& node) {
    const auto root = scale_of.find(node.weighted.node->input(node.weighted.data));
    return root == scale_of.end() ? 0.0F : tensors.at(root->second).affine.scale;
  };
  WeightChooser weights;
  for (const ChosenNode& node : chosen.nodes)
    if (node.weighted.bias >= 0 && data_scale(node) > 0) weights.require_for_bias(node, data_scale(node));
  // Everything that may be wrong with a weight is found before anything is changed.
  for (const ChosenNode& node : chosen.nodes)
    for (const WeightOperand& weight : node.weighted.weights) weights.of(weight, *node.options);
  for (const Lookup& lookup : chosen.lookups) weights.of_rows(lookup);

  for (const LeftNode& left : chosen.left) note(*left.node, left.why, changes);
  for (const ChosenNode& node : chosen.nodes) {
    note(*node.weighted.node, {}, changes);
    if (node.weights_alone) note(*node.weighted.node, why_weights_alone(*node.weighted.node), changes);
  }
  for (const ActivationProduct& product : chosen.products) note(*product.node, {}, changes);
  for (const ir::Node* node : chosen.passing) note(*node, {}, changes);
  for (const Lookup& lookup : chosen.lookups) note(*lookup.node, {}, changes);
  ir::Transaction edit(model);
  QdqWriter writer(model, samples.remembered());
  const bool has_coded_biases = ops::takes_coded_biases(context.target, model.opset("").value_or(1));
  for (const ChosenNode& node : chosen.nodes) {
    const float scale = data_scale(node);
    for (const WeightOperand& weight : node.weighted.weights)
      writer.put_weight(*node.weighted.node, weight, weights.of(weight, *node.options), scale > 0);
    if (node.weighted.bias >= 0 && scale > 0 && has_coded_biases)
      writer.put_bias(node.weighted, scale, weights.of(node.weighted.weights.front(), *node.options));
  }
  for (const Lookup& lookup : chosen.lookups) writer.put_rows(lookup, weights.of_rows(lookup));
  for (const QuantizedTensor& tensor : chosen.tensors) {
    const Scaled& scaled = tensors.at(tensor.scale_of);
    writer.set_scale(tensor.scale_of, scaled.affine, scaled.codes);
    writer.put_pair(tensor);
  }
  edit.keep();
  context.forget_facts();
  return static_cast<int>(changes.made.size() - made_before);
}

}  // namespace thaw::quantizing::int8
