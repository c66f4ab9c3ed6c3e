#include "thaw/quant/half/to_half.h"

#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/half/batch_transposes.h"
#include "thaw/quant/half/half_nodes.h"
#include "thaw/quant/half/set_widths.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

void warn(Float32Fallback& fallback, const std::vector<HalfCandidate>& candidates, std::vector<std::string>& warnings) {
  constexpr double kFew = 1e-3;
  std::unordered_set<const ir::Value*> done;
  for (const HalfCandidate& candidate : candidates) {
    if (!candidate.is_narrow) continue;
    for (const int i : candidate.operands.inputs) {
      const ir::Value* value = candidate.node->input(i);
      if (!is_fixed(*value) || !done.insert(value).second) continue;
      const WeightRange& range = fallback.range(*value);
      const ops::Role role = ops::role_of(*candidate.node, i);
      const bool is_trained = role == ops::Role::kWeight || role == ops::Role::kBias;
      if (range.nan > 0 || (is_trained && range.infinite > 0))
        warnings.push_back(fmt::format("{} of the {} elements of '{}' are NaN and {} infinite, as in the original",
                                       range.nan, range.elements, value->name(), range.infinite));
      // Next to larger ones they are no loss.
      if (range.largest<kFew&& static_cast<double>(range.vanish)> kFew * static_cast<double>(range.elements))
        warnings.push_back(
            fmt::format("{} of the {} elements of '{}' underflow to 0", range.vanish, range.elements, value->name()));
    }
  }
}

// What nothing brings back: it goes into a node of float16 as it is.
void warn_of_overflows(const OverflowRegions& overflows, const std::vector<HalfCandidate>& candidates,
                       std::vector<std::string>& warnings) {
  std::unordered_set<const ir::Value*> done;
  std::string first;
  for (const HalfCandidate& candidate : candidates) {
    if (!candidate.is_narrow) continue;
    for (const int i : candidate.operands.inputs) {
      const ir::Value* value = candidate.node->input(i);
      if (is_fixed(*value) || !overflows.leaves(value) || !done.insert(value).second) continue;
      if (first.empty()) first = value->name();
    }
  }
  if (done.empty()) return;
  const std::string others = done.size() > 1 ? fmt::format(" and {} others", done.size() - 1) : std::string();
  warnings.push_back(
      fmt::format("'{}'{} may overflow float16 before a float16 node reads it; give samples with --data to measure",
                  first, others));
}

}  // namespace

int to_half(rewrite::PassContext& context, const HalfOptions& options, std::vector<std::string>& warnings) {
  ir::Model& model = context.model;
  rewrite::Changes& changes = context.changes;
  HalfNodes nodes(model, options);
  const std::vector<HalfCandidate> candidates = nodes.choose();
  int count = 0;
  for (const HalfCandidate& candidate : candidates) {
    const std::string location = rewrite::name_of(*candidate.node);
    const bool has_numbers = !candidate.operands.inputs.empty() || !candidate.operands.outputs.empty();
    if (candidate.is_narrow && !has_numbers) continue;  // whatever the type, it is none of its own
    if (candidate.is_narrow) {
      ++count;
      changes.made.push_back(
          {.kind = std::string(ir::name_of(options.to)), .location = location, .part = {}, .replaced = {}});
    } else if (candidate.is_asked) {
      changes.left.push_back(
          {.kind = "float32", .location = location, .part = {}, .replaced = {}, .nodes = 0, .why = candidate.stays});
    }
  }
  if (count == 0 && !options.convert_io) return 0;
  warn(nodes.fallback(), candidates, warnings);
  if (nodes.overflows()) warn_of_overflows(*nodes.overflows(), candidates, warnings);
  ir::Transaction edit(model);
  set_widths(model, options, nodes.facts(), nodes.fallback(), candidates);
  if (options.to == ir::DataType::kFloat16) give_axes_to_constants(model);
  edit.keep();
  context.forget_facts();
  if (count == 0) {
    const auto note = [&](const ir::Value* value, std::string_view what) {
      if (value->type.elem_type == options.to)
        changes.made.push_back({.kind = std::string(ir::name_of(options.to)),
                                .location = fmt::format("{} '{}'", what, value->name()),
                                .part = {},
                                .replaced = {}});
    };
    for (const ir::Value* input : model.graph->inputs()) note(input, "input");
    for (const ir::Value* output : model.graph->outputs()) note(output, "output");
  }
  return count;
}

}  // namespace thaw::quantizing
