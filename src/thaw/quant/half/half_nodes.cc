#include "thaw/quant/half/half_nodes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/infer/cost.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/kernel_types.h"
#include "thaw/quant/half/fewest_casts.h"

namespace thaw::quantizing {
namespace {

constexpr double kCastBytes = 1.5;  // of a float32 that is read and a 16-bit number that is written

}  // namespace

HalfNodes::HalfNodes(ir::Model& model, const HalfOptions& options)
    : model_(model),
      options_(options),
      facts_(infer::infer(model, scope_)),
      fallback_(*model.graph, options.to, options.seen, options.seen_decides) {
  sizes_ = infer::assumed_sizes(scope_);
  if (options.to == ir::DataType::kFloat16) overflows_.emplace(model, facts_, sizes_, fallback_, !options.convert_io);
}

std::vector<HalfCandidate> HalfNodes::choose() {
  collect(*model_.graph);
  for (HalfCandidate& candidate : found_) candidate.stays = why_wide(candidate);
  label();
  return std::move(found_);
}

void HalfNodes::collect(const ir::Graph& graph) {
  for (ir::Node* node : graph.nodes()) {
    if (!node->constant()) {
      index_[node] = static_cast<int>(found_.size());
      found_.push_back({.node = node, .operands = typed_operands(*node, model_, facts_, options_.to), .stays = {}});
    }
    for (const ir::Graph* inner : node->subgraphs()) collect(*inner);
  }
}

std::string HalfNodes::why_wide(HalfCandidate& candidate) {
  const TypedOperands& operands = candidate.operands;
  candidate.is_asked = !operands.inputs.empty() || !operands.outputs.empty() || !operands.fixed_inputs.empty();
  if (!operands.why_not.empty()) return operands.why_not;
  if (options_.wanted && !options_.wanted(*candidate.node)) return "kept by --keep or the plan";
  if (options_.target && !has_kernel(*candidate.node, operands))
    return fmt::format("{} has no kernel of {} for it", options_.target->title, ir::name_of(options_.to));
  if (std::string why = fallback_.keeps_wide(*candidate.node, operands); !why.empty() || !overflows_) return why;
  return overflows_->keeps_wide(*candidate.node);
}

// What the kernel does not take in float32 either is no better for staying so, and `check --target` says what it thinks of the node.
bool HalfNodes::has_kernel(const ir::Node& node, const TypedOperands& operands) const {
  const ops::TargetDomain* domain = options_.target->domain(node.domain());
  const int64_t opset = model_.opset(node.domain()).value_or(1);
  if (!domain || domain->kernels.empty()) return true;
  const auto match = ops::find_kernel(*domain, node.op_type(), opset);
  if (!match) return true;
  const auto types = ops::operand_types(node.domain(), node.op_type(), opset);
  const auto is_taken = [&](const ops::KernelOperand& operand) {
    const ops::SaidTypes said = ops::said_types(*match->kernels, operand);
    const auto refuses = [&](ir::DataType type) {
      return said.support_of({ops::Container::kTensor, type}) == Support::kUnsupported;
    };
    return !refuses(options_.to) || refuses(ir::DataType::kFloat);
  };
  const auto inputs = ops::kernel_inputs(types, node.inputs().size());
  const auto outputs = ops::kernel_outputs(types, node.outputs().size(), node.inputs().size());
  return std::ranges::all_of(operands.inputs, [&](int i) { return is_taken(inputs[static_cast<size_t>(i)]); }) &&
         std::ranges::all_of(operands.outputs, [&](int i) { return is_taken(outputs[static_cast<size_t>(i)]); });
}

double HalfNodes::bytes(const ir::Value* value) const {
  const auto bytes = dim::evaluate(infer::bytes_of(facts_.fact(value)), sizes_);
  return bytes ? static_cast<double>(*bytes) : 1;
}

void HalfNodes::label() {
  // Inputs, and what comes out of graphs, are float32, or of the new type, whatever reads them.
  const int world = static_cast<int>(found_.size());
  std::vector<LabelledNode> nodes(found_.size() + 1);
  std::vector<LabelledEdge> edges;
  nodes.back().width = options_.convert_io ? Width::kNarrow : Width::kWide;
  for (size_t i = 0; i < found_.size(); ++i) {
    const HalfCandidate& candidate = found_[i];
    const ops::Operator* op = ops::registry().find(*candidate.node);
    // What contracts is why one converts: its kernels gain, and its weights are the file.
    const bool contracts = op && op->op_class == ops::OpClass::kContraction;
    nodes[i].width = !candidate.stays.empty() ? Width::kWide : contracts ? Width::kNarrow : Width::kEither;
    for (const int o : candidate.operands.outputs) {
      const ir::Value* value = candidate.node->output(o);
      nodes[i].cost_when_wide += bytes(value) / 2;
      if (value->is_output()) edges.push_back({static_cast<int>(i), world, kCastBytes * bytes(value)});
    }
    for (const int in : candidate.operands.inputs) {
      const ir::Value* value = candidate.node->input(in);
      nodes[i].cost_when_wide += bytes(value) / 2;
      if (!is_fixed(*value)) edges.push_back({static_cast<int>(i), maker_of(*value, world), kCastBytes * bytes(value)});
    }
  }
  const std::vector<bool> narrow = narrow_nodes(nodes, edges);
  for (size_t i = 0; i < found_.size(); ++i) {
    found_[i].is_narrow = narrow[i] && found_[i].stays.empty();
    if (!found_[i].is_narrow && found_[i].stays.empty()) found_[i].stays = "its neighbours stay in float32";
  }
}

int HalfNodes::maker_of(const ir::Value& value, int world) const {
  const auto found = value.producer() ? index_.find(value.producer()) : index_.end();
  if (found == index_.end()) return world;
  const std::vector<int>& outputs = found_[static_cast<size_t>(found->second)].operands.outputs;
  return std::ranges::find(outputs, value.producer_index()) == outputs.end() ? world : found->second;
}

}  // namespace thaw::quantizing
