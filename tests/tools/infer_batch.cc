// Infers many models in one process: reads paths of ONNX files from standard input, one a line, and prints one line of
// JSON for each: {"outputs": [{"name", "dims"}], "problems": [text], "unknown_operators": [text]}, or {"error": text}.
// Dims as `thaw inspect --format json` prints them: an integer, text in the grammar of docs/dims.md, or null.
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

json report(const std::string& path) {
  auto model = thaw::ir::load(path);
  thaw::dim::Scope scope;
  auto result = thaw::infer::infer(*model, scope);
  json outputs = json::array();
  for (const thaw::ir::Value* value : model->graph->outputs())
    outputs.push_back({{"name", value->name()}, {"dims", dims_of(result.fact(value))}});
  json problems = json::array();
  for (const auto& problem : result.problems()) problems.push_back(problem.message);
  return {{"outputs", outputs}, {"problems", problems}, {"unknown_operators", result.unknown_operators()}};
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
