// What is the same size, however it is computed, once.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

// Equal keys, equal tensors at every size; empty where an element is not known, or none depends on a size.
std::string key_of(const ops::Fact& fact) {
  if (!fact.is_tensor() || !fact.elements || fact.elements->empty() || !fact.shape) return {};
  std::string key = std::to_string(static_cast<int>(fact.dtype));
  for (const dim::Dim d : *fact.shape) key += "," + std::to_string(d.constant().value_or(-1));
  bool is_symbolic = false;
  for (const ops::Element& element : *fact.elements) {
    const dim::Dim d = element.as_dim();
    if (d.is_unknown()) return {};
    is_symbolic |= d.is_symbolic();
    key += d.is_symbolic() ? "|e" + std::to_string(reinterpret_cast<uintptr_t>(d.expr()))
                           : "|" + std::to_string(*d.constant());
  }
  return is_symbolic ? key : std::string();
}

int share_sizes_in(const ir::Graph& graph, const infer::Inference& facts, rewrite::Changes& changes) {
  std::unordered_map<std::string, ir::Value*> known;
  int count = 0;
  for (ir::Node* node : graph.nodes()) {
    for (ir::Value* value : node->outputs()) {
      if (!value || !value->is_used()) continue;
      const std::string key = key_of(facts.fact(value));
      if (key.empty()) continue;
      ir::Value*& first = known.try_emplace(key, value).first->second;
      if (first == value || first->producer() == node || !rewrite::can_replace(*value, *first)) continue;
      changes.made.push_back({.kind = "compute a size once",
                              .location = node->describe(),
                              .replaced = {{"'" + value->name() + "'", "'" + first->name() + "'"}}});
      rewrite::replace_value(*value, *first);
      ++count;
    }
  }
  return count;
}

}  // namespace

int share_sizes(Context& context) {
  const infer::Inference& facts = context.facts();
  return rewrite::edit_as_one(context, [&] {
    int count = 0;
    for (const ir::Graph* graph : rewrite::all_graphs(*context.model.graph))
      count += share_sizes_in(*graph, facts, context.changes);
    return count;
  });
}

}  // namespace thaw::optimizing
