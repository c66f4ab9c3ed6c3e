#include "thaw/quant/half/missing_kernels.h"

#include <algorithm>
#include <memory>

#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/splice.h"
#include "thaw/run/providers.h"
#include "thaw/run/session.h"

namespace thaw::quantizing {
namespace {

bool is_cpu(const std::string& provider) { return run::provider_word(provider) == run::kCpu; }

// Nodes that another provider than the CPU runs, without any optimization: so that each keeps its name.
std::set<std::string> nodes_elsewhere(const ir::Model& model, bool& are_known) {
  run::Session session(model, {.optimization = Optimization::kNone, .spinning = false, .profile = true});
  const Placement placement = session.placement();
  are_known = !placement.nodes.empty();
  std::set<std::string> names;
  for (const PlacedNode& node : placement.nodes)
    if (!is_cpu(node.provider)) names.insert(node.name);
  return names;
}

bool computes_in_16_bits(const ir::Node& node, const infer::Result& facts) {
  const ops::Operator* const op = ops::registry().find(node);
  if ((op && op->converts) || node.constant()) return false;
  const auto is_half = [&](const ir::Value* value) {
    if (value == nullptr) return false;
    const ops::Fact& fact = facts.fact(value);
    return fact.is_tensor() && (fact.dtype == ir::DataType::kFloat16 || fact.dtype == ir::DataType::kBfloat16);
  };
  return std::ranges::any_of(node.inputs(), is_half) || std::ranges::any_of(node.outputs(), is_half);
}

}  // namespace

bool MissingKernels::has(const ir::Node& node) const { return are_all || of.contains(rewrite::name_of(node)); }

MissingKernels find_missing_kernels(const ir::Model& converted) {
  if (!run::have_other_providers()) return {};
  try {
    bool are_known = false;
    const std::unique_ptr<ir::Model> named = ir::clone(converted);
    for (ir::Node* node : named->graph->nodes()) node->name = rewrite::name_of(*node);
    const std::set<std::string> elsewhere = nodes_elsewhere(*named, are_known);
    if (!are_known) return {};
    dim::Scope scope;
    const infer::Result facts = infer::infer(*named, scope);
    MissingKernels missing{.are_all = false};
    for (const ir::Node* node : named->graph->nodes())
      if (!elsewhere.contains(node->name) && computes_in_16_bits(*node, facts)) missing.of.insert(node->name);
    return missing;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    return {};  // for want of a kernel before all
  }
}

}  // namespace thaw::quantizing
