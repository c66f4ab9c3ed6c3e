#include "thaw/rewrite/pass.h"

#include <unordered_set>

#include <fmt/format.h>

#include "thaw/rewrite/list_initializers.h"

namespace thaw {

std::string Change::message() const {
  if (replaced.empty()) return why;
  std::string text = part.empty() ? std::string() : part + ": ";
  for (size_t i = 0; i < replaced.size(); ++i)
    text += fmt::format("{}{} becomes {}", i == 0 ? "" : ", ", replaced[i].first, replaced[i].second);
  if (nodes > 0) text += fmt::format(" in {} node{}", nodes, nodes == 1 ? "" : "s");
  return text;
}

namespace rewrite {

Changes run(std::span<const Pass> pipeline, ir::Model& model) {
  Changes changes;
  const std::vector<ir::Value*>& initializers = model.graph->initializers();
  const std::unordered_set<const ir::Value*> known(initializers.begin(), initializers.end());
  for (const Pass& pass : pipeline) pass.run(model, changes);
  list_initializers(model, known);
  return changes;
}

}  // namespace rewrite
}  // namespace thaw
