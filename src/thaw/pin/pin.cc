#include "thaw/pin/pin.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/optimize/optimize.h"
#include "thaw/pin/inputs.h"
#include "thaw/pin/open_sizes.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/patch.h"

namespace thaw::pinning {
namespace {

// What sizes, and conditions on them, come to.
void write_known_numbers(rewrite::PassContext& context) {
  ir::Graph& graph = *context.model.graph;
  rewrite::Patch patch(context.model, "pinned");
  int count = 0;
  for (ir::Node* node : graph.nodes()) {
    if (node->constant()) continue;
    for (ir::Value* output : node->outputs()) {
      if (!output || output->is_output() || !output->is_used()) continue;
      auto tensor = ops::known_numbers(context.facts().fact(output));
      if (!tensor) continue;
      tensor->name = graph.unique_name(output->name() + "_pinned");
      patch.replace(output, graph.add_initializer(std::move(*tensor)));
      ++count;
    }
  }
  patch.apply();
  if (count > 0)
    context.changes.made.push_back({.kind = "write what sizes come to",
                                    .location = "the model",
                                    .why = fmt::format("{} tensor{} of sizes", count, count == 1 ? "" : "s")});
}

void declare_all(ir::Model& model, const infer::Result& facts) {
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    for (ir::Value* output : node->outputs()) {
      if (!output || node->constant()) continue;
      if (output->is_output() && output->type.shape) continue;  // declare_truly has seen to it
      const ops::Fact& fact = facts.fact(output);
      if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined || !fact.has_rank()) continue;
      ir::Type type = ir::Type::tensor(fact.dtype);
      type.shape.emplace();
      for (const dim::Dim d : *fact.shape)
        type.shape->push_back({.value = d.constant(), .param = {}, .denotation = {}});
      if (output->is_output()) {
        output->set_type(std::move(type));
      } else {
        graph.set_value_info(output, std::move(type));
      }
    }
  }
}

void require_runnable(const ir::Model& model, const infer::Result& facts, size_t problems_before) {
  if (facts.problems().size() <= problems_before) return;
  const infer::Problem& problem = facts.problems().front();
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the model cannot run at these sizes: {}", problem.message),
               .where = fmt::format("{}: {}", model.path.string(), problem.node->describe()),
               .expected = "sizes that its nodes accept",
               .next = "`thaw check --sizes` says which do"});
}

}  // namespace

Pinned pin(ir::Model& model, const PinOptions& options) {
  ops::require_arity(model);
  ir::tell_names_apart(model);
  Pinned pinned;
  const std::unordered_set<const ir::Value*> defaults = rewrite::read_defaults(model);
  rewrite::PassContext context(model);
  const size_t problems_before = context.facts().result().problems().size();
  pinned.given = pin_inputs(context, options);
  // What is declared inside was said of other sizes.
  rewrite::forget_declarations(*model.graph);
  context.forget_facts();
  require_runnable(model, context.facts().result(), problems_before);
  write_known_numbers(context);
  pinned.changes = std::move(context.changes);
  OptimizeOptions clean;
  clean.level = OptimizeLevel::kClean;
  clean.max_growth = options.max_growth;
  rewrite::Changes cleaned = optimizing::optimize(model, clean, optimizing::FrozenSizes::kMeant);
  std::ranges::move(cleaned.made, std::back_inserter(pinned.changes.made));
  rewrite::drop_unread_defaults(model, defaults);
  rewrite::declare_truly(model);
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  declare_all(model, facts);
  pinned.open = open_sizes(model, scope, facts);
  return pinned;
}

}  // namespace thaw::pinning
