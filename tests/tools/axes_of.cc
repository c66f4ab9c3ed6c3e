// What Thaw says of the axes of one node: reads paths of ONNX files from standard input, one a line, and prints one line
// of JSON for the first node of each: {"links": [{"kind", "combine", "index", "inputs": [[operand, axis]], "outputs"}]};
// null where it says nothing, {"error": text} where the file cannot be read.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"

namespace {

using nlohmann::json;

json locations(const std::vector<thaw::ops::OperandAxis>& list) {
  json out = json::array();
  for (const auto& location : list) out.push_back({location.operand, location.axis});
  return out;
}

json links_of(const std::string& path) {
  constexpr const char* kKinds[] = {"kept", "mixed", "contracted", "new"};
  constexpr const char* kCombines[] = {"other", "sum", "mean", "maximum", "minimum", "softmax", "log_softmax"};
  const auto model = thaw::ir::load(path);
  thaw::dim::Scope scope;
  const auto facts = thaw::infer::infer(*model, scope);
  thaw::infer::NodeFacts view(facts, *model, *model->graph->nodes().front());
  const auto map = thaw::ops::axes_of(view);
  if (!map) return nullptr;
  json links = json::array();
  for (const auto& link : map->links) {
    links.push_back({{"kind", kKinds[static_cast<int>(link.kind)]},
                     {"combine", kCombines[static_cast<int>(link.combine)]},
                     {"index", link.index},
                     {"inputs", locations(link.inputs)},
                     {"outputs", locations(link.outputs)}});
  }
  return {{"links", links}};
}

}  // namespace

int main() {
  std::string path;
  while (std::getline(std::cin, path)) {
    json line;
    try {
      line = links_of(path);
    } catch (const std::exception& error) {
      line = {{"error", error.what()}};
    }
    std::cout << line.dump() << '\n' << std::flush;
  }
  return 0;
}
