// Infers many models in one process: reads paths of ONNX files from standard input, one a line, and prints one line of
// JSON for each: {"outputs": [{"name", "dims"}], "problems": [text], "unknown_operators": [text], "statements": [{"kind",
// "a", "b"}]}, or {"error": text}. The statements are those that `thaw check --sizes` would prove; null where some sizes are
// unknown, so that it would not. Dims as `thaw inspect --format json` prints them: an integer, text in the grammar of docs/dims.md, or null.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace {

using nlohmann::json;

json dims_of(const thaw::ops::Fact& fact) {
  if (!fact.is_tensor() || !fact.has_rank()) return nullptr;
  json dims = json::array();
  for (thaw::dim::Dim d : *fact.shape) {
    if (d.is_unknown())
      dims.push_back(nullptr);
    else if (auto value = d.constant())
      dims.push_back(*value);
    else
      dims.push_back(thaw::dim::to_string(d));
  }
  return dims;
}

// Sizes are taken to be 1 at least, as they are there.
bool has_unknown_sizes(const thaw::ir::Model& model, const thaw::infer::Result& result) {
  for (const thaw::ir::Node* node : model.graph->nodes()) {
    for (const thaw::ir::Value* value : node->outputs()) {
      const thaw::ops::Fact& fact = result.fact(value);
      if (!value || !fact.is_tensor()) continue;
      if (!fact.has_rank()) return true;
      for (thaw::dim::Dim d : *fact.shape)
        if (d.is_unknown()) return true;
    }
  }
  return false;
}

json statements_of(const thaw::ir::Model& model, const thaw::dim::Scope& seen) {
  thaw::dim::Scope scope;
  thaw::infer::InferOptions options;
  options.sizes_as_run = true;
  for (const thaw::dim::SymbolInfo& symbol : seen.symbols())
    if (symbol.kind == thaw::dim::SymbolKind::kInputDim) scope.assume_range(scope.symbol(symbol.name), 1, std::nullopt);
  json statements = json::array();
  const thaw::infer::Result result = thaw::infer::infer(model, scope, options);
  if (has_unknown_sizes(model, result)) return nullptr;
  for (const thaw::ops::Obligation& o : result.obligations()) {
    if (o.only_specified) continue;
    statements.push_back(
        {{"kind", thaw::dim::name_of(o.kind)}, {"a", thaw::dim::to_string(o.a)}, {"b", thaw::dim::to_string(o.b)}});
  }
  return statements;
}

json report(const std::string& path) {
  auto model = thaw::ir::load(path);
  thaw::dim::Scope scope;
  auto result = thaw::infer::infer(*model, scope);
  json outputs = json::array();
  for (const thaw::ir::Value* value : model->graph->outputs())
    outputs.push_back({{"name", value->name()}, {"dims", dims_of(result.fact(value))}});
  json problems = json::array();
  for (const auto& problem : result.problems()) problems.push_back(problem.message);
  return {{"outputs", outputs},
          {"problems", problems},
          {"unknown_operators", result.unknown_operators()},
          {"statements", statements_of(*model, scope)}};
}

}  // namespace

int main() {
  std::string path;
  while (std::getline(std::cin, path)) {
    json line;
    try {
      line = report(path);
    } catch (const std::exception& error) {
      line = {{"error", error.what()}};
    }
    std::cout << line.dump() << '\n' << std::flush;
  }
  return 0;
}
