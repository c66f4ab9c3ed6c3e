// Static INT8: weights as codes, and activations through pairs of QuantizeLinear and DequantizeLinear.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/place.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/int8/qdq_writer.h"
#include "thaw/quant/int8/useful_ranges.h"
#include "thaw/quant/int8/weight_chooser.h"

namespace thaw::quantizing::int8 {
namespace {

struct Scaled {
  Affine affine;
  Codes codes;
};
using TensorScales = std::unordered_map<const ir::Value*, Scaled>;

TensorScales measure(const ir::Model& model, const Chosen& chosen, const Samples& samples) {
  const ValuePlaces places(model);
  std::map<ValuePlace, RangeRequest> wanted;
  std::map<ValuePlace, const QuantizedTensor*> tensors;
  std::unordered_map<const ir::Graph*, std::unordered_map<const ir::Value*, Range>> useful;  // by graphs
  for (const QuantizedTensor& tensor : chosen.tensors) {
    if (tensor.scale_of != tensor.value) continue;
    const Int8Options& options = *tensor.options;
    const ir::Graph* graph = tensor.value->graph();
    const ValuePlace place = places.of(*tensor.value);
    RangeRequest& request = wanted[place];
    request = {options.range, options.percentile, activation_codes(options), options.symmetric_activations};
    const auto [here, fresh] = useful.try_emplace(graph);
    if (fresh) here->second = useful_ranges(*graph);
    if (const auto at = here->second.find(tensor.value); at != here->second.end()) request.useful = at->second;
    tensors[place] = &tensor;
  }
  TensorScales scales;
  for (const auto& [place, range] : measured_ranges(model, wanted, samples)) {
    const RangeRequest& request = wanted.at(place);
    scales[tensors.at(place)->value] = {affine_of(range, request.codes, request.symmetric), request.codes};
  }
  return scales;
}

std::string why_weights_alone(const ir::Node& node) {
  return can_be_measured(*node.graph())
             ? "no sample runs the graph that it stands in: its weights alone are in 8 bits"
             : fmt::format("what stands in a {} is not measured: its weights alone are in 8 bits",
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
  const Chosen chosen = choose(model, facts, wanted, [&](const std::set<const ir::Graph*>& graphs) {
    return graphs_that_run(model, graphs, samples);
  });
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
  for (const ChosenNode& node : chosen.nodes) {
    const float scale = data_scale(node);
    for (const WeightOperand& weight : node.weighted.weights)
      writer.put_weight(*node.weighted.node, weight, weights.of(weight, *node.options), scale > 0);
    if (node.weighted.bias >= 0 && scale > 0)
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
