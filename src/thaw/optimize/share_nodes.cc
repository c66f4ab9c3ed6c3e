// What is computed twice, once.
#include <string>
#include <unordered_map>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/node_key.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

class NodeSharer {
 public:
  NodeSharer(ir::Model& model, rewrite::Changes& changes) : model_(model), changes_(changes) {}

  int run() {
    visit(*model_.graph);
    return count_;
  }

 private:
  using Known = std::unordered_map<std::string, ir::Node*>;

  void visit(ir::Graph& graph) {
    known_.emplace_back();
    for (ir::Node* node : graph.nodes()) {
      for (ir::Graph* inner : node->subgraphs()) visit(*inner);
      const std::string key = rewrite::key_of(*node);
      if (key.empty()) continue;
      if (ir::Node* first = find(key, *node)) {
        share(*node, *first);
      } else {
        known_.back().emplace(key, node);
      }
    }
    known_.pop_back();
  }

  ir::Node* find(const std::string& key, const ir::Node& node) const {
    // Kernels of codes take what makes numbers of them beside what reads those, not outside its graph.
    if (node.op_type() == ops::kDequantize) {
      const auto found = known_.back().find(key);
      return found == known_.back().end() ? nullptr : found->second;
    }
    for (auto scope = known_.rbegin(); scope != known_.rend(); ++scope)
      if (const auto found = scope->find(key); found != scope->end()) return found->second;
    return nullptr;
  }

  void share(ir::Node& node, ir::Node& first) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value *old = node.outputs()[i], *now = first.outputs()[i];
      if (old && old->is_used() && (!now || !rewrite::can_replace(*old, *now))) return;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (ir::Value* old = node.outputs()[i]; old && old->is_used()) rewrite::replace_value(*old, *first.outputs()[i]);
    changes_.made.push_back({.kind = "compute once",
                             .location = node.describe(),
                             .replaced = {{node.op_type(), "what " + first.describe() + " computes"}}});
    node.graph()->remove_node(&node);
    ++count_;
  }

  ir::Model& model_;
  rewrite::Changes& changes_;
  std::vector<Known> known_;  // of the graphs around, outermost first
  int count_ = 0;
};

}  // namespace

int share_nodes(Context& context) {
  return rewrite::edit_as_one(context, [&] { return NodeSharer(context.model, context.changes).run(); });
}

}  // namespace thaw::optimizing
