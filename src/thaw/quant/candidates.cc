#include "thaw/quant/candidates.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/quant/convert.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/int8/chosen.h"
#include "thaw/quant/precisions.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

void add_products(const ir::Graph& graph, std::vector<std::string>& names) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) add_products(*inner, names);
    if (blocks::is_candidate(*node)) names.push_back(rewrite::name_of(*node));
  }
}

std::vector<std::string> with_coded_weights(const ir::Model& model, const PrecisionOptions& precision) {
  const std::unique_ptr<ir::Model> copy = ir::clone(model);
  dim::Scope scope;
  const infer::Result facts = infer::infer(*copy, scope);
  std::unordered_set<const ir::Node*> found;
  std::vector<int8::LeftNode> left;
  const int8::Wanted all = [&](const ir::Node&) { return &precision.int8; };
  for (const int8::ChosenNode& chosen : int8::choose_weighted(*copy, facts, all, left))
    found.insert(chosen.weighted.node);
  for (const int8::Lookup& lookup : int8::choose_lookups(*copy, all)) found.insert(lookup.node);
  std::vector<std::string> names;
  for_nodes(*copy->graph, [&](const ir::Node& node) {
    if (found.contains(&node)) names.push_back(rewrite::name_of(node));
  });
  return names;
}

// Those that contract: what moves or scales numbers alone goes with what is around it, and alone stays as it is.
std::vector<std::string> in_16_bits(const ir::Model& model, const PrecisionOptions& precision, const Samples* samples) {
  const std::unique_ptr<ir::Model> copy = ir::clone(model);
  ir::begin_own_run(*copy);
  ConvertReport report;
  convert(*copy, {.precision = precision, .optimize = false, .check = false}, samples, report);
  std::unordered_set<std::string> changed;
  for (const Change& change : report.changed) changed.insert(change.location);
  std::vector<std::string> names;
  for (const ir::Node* node : model.graph->nodes()) {
    const ops::Operator* op = ops::registry().find(*node);
    std::string name = rewrite::name_of(*node);
    if (op && op->op_class == ops::OpClass::kContraction && changed.contains(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<std::string> candidates(const ir::Model& model, const PrecisionOptions& precision, const Samples* samples) {
  std::vector<std::string> names;
  if (is_blocks(precision.to)) {
    add_products(*model.graph, names);
  } else if (is_int8(precision.to)) {
    names = with_coded_weights(model, precision);
  } else if (is_half(precision.to)) {
    names = in_16_bits(model, precision, samples);
  }
  std::unordered_set<std::string> met;
  std::erase_if(names, [&](const std::string& name) { return !met.insert(name).second; });
  return names;
}

namespace {

// Whether it comes from constants alone; adds those.
bool add_constants(const ir::Value& value, std::vector<const ir::Value*>& constants) {
  constexpr size_t kMost = 16;  // that one weight is made of
  if (value.is_input() || constants.size() > kMost) return false;
  if (value.constant()) {
    constants.push_back(&value);
    return true;
  }
  const ir::Node* maker = value.producer();
  return maker && !maker->inputs().empty() && maker->subgraphs().empty() &&
         std::ranges::all_of(maker->inputs(),
                             [&](const ir::Value* input) { return !input || add_constants(*input, constants); });
}

}  // namespace

std::vector<const ir::Value*> weights_of(const ir::Node& node) {
  std::vector<const ir::Value*> weights;
  for (const ir::Value* input : node.inputs()) {
    std::vector<const ir::Value*> constants;
    if (!input || !add_constants(*input, constants)) continue;
    for (const ir::Value* constant : constants)
      if (constant->constant()->dims.size() >= 2 && ir::is_floating(constant->constant()->data_type) &&
          std::ranges::find(weights, constant) == weights.end())
        weights.push_back(constant);
  }
  return weights;
}

}  // namespace thaw::quantizing
