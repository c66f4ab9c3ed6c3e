#include "thaw/quant/convert.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/infer/inference.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/optimize/control.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/half/to_half.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/seen_ranges.h"
#include "thaw/quant/to_blocks.h"
#include "thaw/quant/to_int8.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

// Files of IR versions before 4 list every weight among the inputs; one that a caller may replace is no constant.
void settle_weights(ir::Model& model, const ConvertOptions& options, ConvertReport& report) {
  const int count = rewrite::count_replaceable(model);
  if (count == 0 || options.constant_weights)
    rewrite::make_weights_constants(model);
  else
    report.warnings.push_back(rewrite::told_replaceable(count));
}

void optimize_first(ir::Model& model, const ConvertOptions& options, ConvertReport& report) {
  OptimizeReport& done = report.optimized.emplace();
  const optimizing::Weight before = optimizing::weigh(*model.graph);
  // There are no kernels in fewer bits for what that makes, and an 8-bit one cuts off as a Relu does in the scale.
  const OptimizeOptions how{.target = options.target, .skip = {"conv-activations"}};
  rewrite::Changes changes = optimizing::optimize(model, how);
  const optimizing::Weight after = optimizing::weigh(*model.graph);
  done.changed = std::move(changes.made);
  done.nodes_before = before.nodes;
  done.nodes_after = after.nodes;
  done.weights_before = before.bytes;
  done.weights_after = after.bytes;
}

void inline_calls(ir::Model& model) {
  if (model.functions.empty()) return;
  dim::Scope scope;
  infer::Inference facts(model, scope);
  rewrite::Changes changes;
  optimizing::inline_functions(model, facts, changes);
}

// Casts that follow each other, and what is cast twice.
void tidy(ir::Model& model) {
  optimizing::optimize(model, {.level = OptimizeLevel::kClean, .only = {"identities", "numbers", "share-nodes"}});
}

void append(rewrite::Changes changes, ConvertReport& report) {
  std::ranges::move(changes.made, std::back_inserter(report.changed));
  std::ranges::move(changes.left, std::back_inserter(report.left));
}

// Convolutions, pools and most of what else there is take bfloat16 since opset 22. A model that cannot be taken there keeps
// its opset, and more of its nodes stay in float32.
void raise_opset_for_bfloat16(ir::Model& model, const ConvertOptions& options) {
  constexpr int64_t kFirstForAll = 22;
  if (!any_is(options, NumberFormat::kBfloat16) || options.target == OptimizeTarget::kDirectml ||
      model.opset("").value_or(1) >= kFirstForAll)
    return;
  try {
    rewrite::Changes changes;
    rewrite::change_opset(model, kFirstForAll, changes);
  } catch (const Error&) {
  }
}

// The names of nodes that other passes do not convert: those that make codes and numbers of weights are none of the model's.
std::unordered_set<std::string> names_left_for_half(const ir::Model& model, const Precisions& precisions) {
  std::unordered_set<std::string> names;
  for_nodes(*model.graph, [&](const ir::Node& node) {
    const NumberFormat to = precisions.of(node).to;
    if (is_half(to) || to == NumberFormat::kKeep) names.insert(rewrite::name_of(node));
  });
  return names;
}

void convert_to_half(ir::Model& model, NumberFormat format, const Precisions& precisions, const ConvertOptions& options,
                     const Samples* samples, const std::unordered_set<std::string>& own, ConvertReport& report) {
  HalfOptions half;
  half.to = format == NumberFormat::kFloat16 ? ir::DataType::kFloat16 : ir::DataType::kBfloat16;
  half.convert_io = options.convert_io;
  half.wanted = [&](const ir::Node& node) { return precisions.of(node).to == format; };
  if (samples && format == NumberFormat::kFloat16) half.seen = seen_ranges(model, *samples);
  if (options.target == OptimizeTarget::kDirectml) half.target = ops::find_target("directml");
  half.known = samples ? samples->remembered() : nullptr;
  half.seen_decides = !samples || !samples->are_drawn();
  rewrite::Changes changes = to_half(model, half, report.warnings);
  std::erase_if(changes.left, [&](const Change& change) { return !own.contains(change.place); });
  append(std::move(changes), report);
}

}  // namespace

void convert(ir::Model& model, const ConvertOptions& options, const Samples* samples, ConvertReport& report) {
  const Phase phase("converting");
  require_blocks(options);
  ops::require_arity(model);
  const bool names_nodes = !options.plan.empty() || !options.keep.empty();
  const std::unique_ptr<ir::Model> before = names_nodes ? ir::clone(model) : nullptr;
  const optimizing::Weight weight = optimizing::weigh(*model.graph);
  report.nodes_before = weight.nodes;
  report.weights_before = weight.bytes;
  const std::vector<ir::Type> outputs = rewrite::declared_outputs(model);
  settle_weights(model, options, report);
  if (options.optimize) optimize_first(model, options, report);
  inline_calls(model);
  raise_opset_for_blocks(model, options);
  raise_opset_for_bfloat16(model, options);
  raise_opset_for_int8(model, options);
  const Precisions precisions(before ? *before : model, model, options, report.left);
  const auto own = names_left_for_half(model, precisions);
  if (any_is(options, [](const PrecisionOptions& precision) { return is_blocks(precision.to); }))
    append(to_blocks(model, precisions, samples), report);
  if (any_is(options, NumberFormat::kInt8)) append(to_int8(model, options, precisions, samples), report);
  for (const NumberFormat format : {NumberFormat::kFloat16, NumberFormat::kBfloat16})
    if (any_is(options, format)) convert_to_half(model, format, precisions, options, samples, own, report);
  if (report.changed.empty()) report.warnings.emplace_back("nothing was converted");
  tidy(model);
  rewrite::remove_unused(model);
  rewrite::declare_truly(model);
  rewrite::keep_declared_outputs(model, outputs);
  const optimizing::Weight now = optimizing::weigh(*model.graph);
  report.nodes_after = now.nodes;
  report.weights_after = now.bytes;
}

}  // namespace thaw::quantizing
