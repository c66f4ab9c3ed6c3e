#include "thaw/confirm/same_noise.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/emit.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/sites.h"

namespace thaw::confirm {
namespace {

constexpr size_t kSalts = 50021;

ops::NoiseRule noise_of(const ir::Node& node) {
  const ops::Operator* entry = ops::registry().find(node);
  return entry && node.output(0) ? entry->noise : nullptr;
}

std::vector<ir::Node*> nodes_that_draw(const ir::Model& model) {
  std::vector<ir::Node*> found;
  for (const ir::Graph* graph : rewrite::all_graphs(*model.graph))
    for (ir::Node* node : graph->nodes())
      if (noise_of(*node)) found.push_back(node);
  return found;
}

}  // namespace

bool draws_numbers(const ir::Model& model) { return !nodes_that_draw(model).empty(); }

std::unique_ptr<ir::Model> with_same_noise(const ir::Model& model) {
  std::unique_ptr<ir::Model> same = ir::clone(model);
  const std::vector<ir::Node*> drawing = nodes_that_draw(*same);
  if (drawing.empty()) return same;
  dim::Scope scope;
  const infer::Result facts = infer::infer(*same, scope);
  for (ir::Node* node : drawing) {
    ir::Value* drawn = node->output(0);
    const ir::DataType type = facts.fact(drawn).dtype;
    if (type == ir::DataType::kUndefined) continue;
    const auto salt = static_cast<int64_t>(std::hash<std::string_view>()(drawn->name()) % kSalts);
    rewrite::Patch patch(*same, {});
    try {
      patch.replace(drawn, noise_of(*node)(*node, type, salt, patch.before(node)));
    } catch (const ops::CannotWrite&) {
      continue;
    }
    node->graph()->remove_node(node);
    patch.apply();
  }
  rewrite::remove_unused(*same);
  return same;
}

const ir::Model& with_same_noise(const ir::Model& model, std::unique_ptr<ir::Model>& made) {
  if (!draws_numbers(model)) return model;
  made = with_same_noise(model);
  return *made;
}

}  // namespace thaw::confirm
