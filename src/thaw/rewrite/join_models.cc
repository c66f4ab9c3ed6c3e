#include "thaw/rewrite/join_models.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/listed_set.h"
#include "thaw/rewrite/splice.h"

namespace thaw::rewrite {
namespace {

[[noreturn]] void refuse(const NamedModel& part, std::string what, std::string expected) {
  throw Error(ErrorCode::kUnsupported,
              {.what = std::move(what), .where = part.model->path.string(), .expected = std::move(expected)});
}

void add_opsets(const NamedModel& part, ir::Model& joined) {
  for (const ir::OpsetImport& import : part.model->opset_imports) {
    const auto version = joined.opset(import.domain);
    if (!version) {
      joined.opset_imports.push_back(import);
    } else if (*version != import.version) {
      refuse(part, fmt::format("it has opset {} of '{}', and another part {}", import.version, import.domain, *version),
             "parts of one opset");
    }
  }
}

// Of all graphs inside too: what a plan names is one node of one part. A node of the graph itself gets the part before its name where it
// is spliced.
void name_after(const std::string& part, ir::Graph& graph) {
  ListedSet<ir::Value*> values;
  for (ir::Value* input : graph.inputs()) values.insert(input);
  for (ir::Value* initializer : graph.initializers()) values.insert(initializer);
  for (ir::Node* node : graph.nodes()) {
    node->name = name_of(*node);
    for (ir::Value* output : node->outputs())
      if (output && !output->name().empty()) values.insert(output);
    for (ir::Graph* inner : node->subgraphs()) {
      for (ir::Node* own : inner->nodes())
        if (!own->name.empty()) own->name = name_in_joined(part, own->name);
      name_after(part, *inner);
    }
  }
  for (ir::Value* value : values) graph.rename(value, name_in_joined(part, value->name()));
}

bool is_one_name(const std::string& param) {
  return !param.empty() && std::ranges::all_of(param, [](unsigned char c) {
    return ascii::is_letter_or_digit(c) || c == '_' || c == '.';
  });
}

ir::Type type_in_joined(const std::string& part, ir::Type type) {
  type.wire = nullptr;
  if (!type.shape) return type;
  for (ir::DeclaredDim& dim : *type.shape)
    dim.param = is_one_name(dim.param) ? fmt::format("{}_{}", part, dim.param) : std::string();
  return type;
}

}  // namespace

std::string name_in_joined(std::string_view part, std::string_view name) { return fmt::format("{}/{}", part, name); }

std::unique_ptr<ir::Model> join_models(std::span<const NamedModel> parts) {
  auto joined = std::make_unique<ir::Model>();
  joined->graph = std::make_unique<ir::Graph>();
  ir::Graph& graph = *joined->graph;
  std::map<std::string, ir::Value*> made;  // by the name that its part gave it
  for (const NamedModel& part : parts) {
    const ir::Model& model = *part.model;
    if (!model.functions.empty()) refuse(part, "it has functions of its own", "a model that `thaw build` wrote");
    joined->ir_version = std::max(joined->ir_version, model.ir_version);
    joined->owners.insert(joined->owners.end(), model.owners.begin(), model.owners.end());
    add_opsets(part, *joined);
    std::vector<std::string> outputs;
    for (const ir::Value* output : model.graph->outputs()) outputs.push_back(output->name());
    std::vector<ir::Value*> operands;
    for (const ir::Value* input : model.graph->inputs()) {
      if (input->constant()) {
        operands.push_back(nullptr);
        continue;
      }
      const auto known = made.find(input->name());
      operands.push_back(known != made.end() ? known->second
                                             : graph.add_input(name_in_joined(part.name, input->name()),
                                                               type_in_joined(part.name, input->type)));
    }
    std::shared_ptr<ir::Graph> body = ir::clone(*model.graph);
    // Before it is inside: the name of an input may be that of an operand around it.
    const std::vector<ir::Value*> formals(body->inputs());
    for (size_t i = 0; i < formals.size(); ++i)
      body->rename(formals[i], body->unique_name(name_in_joined(part.name, formals[i]->name() + "_formal")));
    name_after(part.name, *body);
    ir::Node* place = graph.add_node("Part", "", {}, {}, part.name);
    place->set_attribute({"body", body});
    for (size_t i = 0; i < formals.size(); ++i) {
      if (operands[i]) body->replace_uses(formals[i], operands[i]);
      body->remove_input(formals[i]);
    }
    if (!can_splice(*body))
      refuse(part, "it has sparse weights, or calls functions", "a model that `thaw build` wrote");
    splice(*body, place, part.name);
    const std::vector<ir::Value*> results(body->outputs());
    place->remove_attribute("body");
    graph.remove_node(place);
    for (size_t i = 0; i < outputs.size(); ++i) made.insert_or_assign(outputs[i], results[i]);
    if (&part != &parts.back()) continue;
    for (ir::Value* result : results) graph.add_output(result);
  }
  joined->index_functions();
  ir::begin_own_run(*joined);
  return joined;
}

}  // namespace thaw::rewrite
