// Operators that ONNX does not have, where the target takes ONNX's: each becomes what it stands for.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/facts_view.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr const char* kPass = "standard";

class Lowering {
 public:
  explicit Lowering(Context& context)
      : context_(context), target_(context.backend), opset_(context.model.opset("").value_or(0)) {}

  bool rewrite(ir::Node& node) {
    const ops::Operator* entry = ops::registry().find(node);
    if (!entry || !entry->standard || is_taken(node)) return false;
    if (context_.model.find_function(node.domain(), node.op_type(), node.overload())) return false;
    try {
      write(node, *entry);
      return true;
    } catch (const ops::NoEqual& none) {
      leave(node, none.why);
    } catch (const ops::CannotWrite& cannot) {
      leave(node, cannot.why);
    }
    return false;
  }

 private:
  bool is_taken(const ir::Node& node) const {
    const ops::TargetDomain* domain = target_.domain(node.domain());
    if (!domain) return false;
    if (!domain->kernels.empty())
      return ops::find_kernel(*domain, node.op_type(), node.domain().empty() ? opset_ : 1).has_value();
    return ir::find_schema(node.domain(), node.op_type(), opset_).has_value();
  }

  void write(ir::Node& node, const ops::Operator& entry) {
    infer::Inference& facts = context_.facts();
    rewrite::Patch patch(context_.model, {});
    patch.emitter().set_origin(rewrite::name_of(node));
    const ops::Emit at = patch.before(&node);
    const ir::Node* before = node.graph()->previous(&node);
    infer::FactsView<ops::AdapterContext> view(facts.result(), node, opset_);
    view.begin(node, at, 0, 0);
    entry.standard(view);
    const std::vector<ir::Value*> made = view.replacements();
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      ir::Value* old = node.output(static_cast<int>(i));
      if (!old || !old->is_used()) continue;
      if (i >= made.size() || !made[i]) throw ops::NoEqual{"no operator outputs '" + old->name() + "'"};
      const bool fits = rewrite::can_replace(*old, *made[i]);
      patch.replace(old, fits ? made[i] : at.emit("Identity", {made[i]}));
    }
    context_.changes.made.push_back({.kind = "write in ONNX's operators",
                                     .location = node.describe(),
                                     .replaced = {{node.op_type(), between(before, node)}}});
    node.graph()->remove_node(&node);
    patch.apply(facts);
  }

  // "Conv, Add, Relu": the operators of the nodes between two.
  static std::string between(const ir::Node* before, const ir::Node& after) {
    std::vector<std::string> names;
    const ir::Graph& graph = *after.graph();
    for (const ir::Node* node = before ? graph.next(before) : graph.nodes().front(); node && node != &after;
         node = graph.next(node))
      if (std::ranges::find(names, node->op_type()) == names.end()) names.push_back(node->op_type());
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void leave(const ir::Node& node, const std::string& why) {
    context_.changes.left.push_back({.kind = kPass, .location = node.describe(), .replaced = {}, .why = why});
  }

  Context& context_;
  const ops::Target& target_;
  int64_t opset_;
};

}  // namespace

int write_standard_operators(Context& context) {
  if (context.target == OptimizeTarget::kOrt) return 0;
  Lowering lowering(context);
  int count = rewrite::for_sites(context, [&](ir::Node* node) { return lowering.rewrite(*node) ? 1 : 0; });
  const int domains = rewrite::remove_unused_domains(context.model);
  if (domains > 0)
    context.changes.made.push_back({.kind = "remove imports of domains that nothing is of",
                                    .location = "the model",
                                    .part = {},
                                    .replaced = {},
                                    .why = fmt::format("{} went", domains)});
  return count + domains;
}

}  // namespace thaw::optimizing
