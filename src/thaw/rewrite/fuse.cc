#include "thaw/rewrite/fuse.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::rewrite {
namespace {

// Nodes that nothing reads any more, readers before what they read.
void remove_unread(const std::vector<const ir::Node*>& nodes) {
  for (bool more = true; more;) {
    more = false;
    for (const ir::Node* node : nodes) {
      if (node->is_removed()) continue;
      const auto outputs = node->outputs();
      if (std::any_of(outputs.begin(), outputs.end(), [](const ir::Value* v) { return v && v->is_used(); })) continue;
      node->graph()->remove_node(const_cast<ir::Node*>(node));
      more = true;
    }
  }
}

class Fuser {
 public:
  Fuser(PassContext& context, std::span<const Fusion> fusions)
      : context_(context), model_(context.model), facts_(context.facts()), fusions_(fusions) {
    for (const ir::Graph* graph : all_graphs(*model_.graph))
      for (const ir::Node* node : graph->nodes()) operators_.insert(node->op_type());
    choose();
  }

  int run() {
    return for_sites(context_, [&](ir::Node* node) { return visit(node); });
  }

 private:
  bool visit(ir::Node* node) {
    const auto fusions = by_operator_.find(node->op_type());
    if (fusions == by_operator_.end() || !node->output(0)) return false;
    // A copy, as those that are tried become more with what is made.
    const std::vector<const Fusion*> tried = fusions->second;
    return std::ranges::any_of(tried, [&](const Fusion* fusion) { return apply(*fusion, node); });
  }

  // The fusions whose operators are in the graph.
  void choose() {
    by_operator_.clear();
    for (const Fusion& fusion : fusions_) {
      if (!may_match(fusion.pattern, operators_)) continue;
      for (const std::string_view op : root_operators(fusion.pattern)) by_operator_[op].push_back(&fusion);
    }
  }

  bool apply(const Fusion& fusion, ir::Node* node) {
    const auto found = match(fusion.pattern, node->output(0), model_, facts_.result());
    if (!found || (fusion.holds && !fusion.holds(*found))) return false;
    // What is computed once before a Loop is not computed in each round.
    if (!std::ranges::all_of(found->nodes(), [&](const ir::Node* one) { return one->graph() == node->graph(); }))
      return false;
    Change change{.kind = std::string(fusion.name),
                  .location = node->describe(),
                  .replaced = {{fmt::format("{} nodes", found->nodes().size()), std::string(fusion.name)}}};
    Patch patch(model_, std::string(fusion.name));
    patch.emitter().set_origin(name_of(*node));
    std::string made;
    try {
      ir::Value* now = fusion.build(*found, patch.before(node));
      if (now->producer()) made = now->producer()->op_type();
      patch.replace(node->output(0), now);
    } catch (const ops::CannotWrite&) {
      return false;
    }
    remove_unread(found->nodes());
    patch.apply(facts_);
    context_.changes.made.push_back(std::move(change));
    if (!made.empty() && operators_.insert(std::move(made)).second) choose();
    return true;
  }

  PassContext& context_;
  ir::Model& model_;
  infer::Inference& facts_;
  std::span<const Fusion> fusions_;
  std::set<std::string, std::less<>> operators_;  // that the graph has, or had
  std::unordered_map<std::string_view, std::vector<const Fusion*>> by_operator_;
};

}  // namespace

int fuse(PassContext& context, std::span<const Fusion> fusions) { return Fuser(context, fusions).run(); }

}  // namespace thaw::rewrite
