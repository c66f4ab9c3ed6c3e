#include "thaw/split/cut_off.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/split/named_tensor.h"
#include "thaw/split/stages.h"

namespace thaw::splitting {
namespace {

[[noreturn]] void refuse_output(const ir::Model& model, const ir::Value& value, std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' {}", value.name(), why),
                                            .where = model.path.string(),
                                            .expected = "a tensor that a node of the main graph makes from the inputs",
                                            .next = "`thaw inspect --tensors` lists them"});
}

void end_at(ir::Graph& graph, const std::vector<std::string>& outputs, const ir::Model& model,
            const infer::Result& facts) {
  while (!graph.outputs().empty()) graph.remove_output(static_cast<int>(graph.outputs().size()) - 1);
  for (const std::string& name : outputs) {
    ir::Value* value = graph.find(name);
    if (value->type.kind != ir::Type::Kind::kTensor)
      value->set_type(ir::Type::tensor(facts.fact(model.graph->find(name)).dtype));
    graph.add_output(value);
  }
}

}  // namespace

CutOff cut_off(const ir::Model& model, std::span<const std::string> names) {
  ops::require_arity(model);
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const Passings passings(model, facts);
  CutOff made;
  for (const std::string& name : names) {
    const ir::Value* value = named_tensor(model, name, "`thaw inspect --tensors` lists them");
    const ops::Fact& fact = facts.fact(value);
    if (value->is_input()) refuse_output(model, *value, "is an input");
    if (passings.of(value) == Passing::kConstant) refuse_output(model, *value, "is a constant");
    if (fact.kind != ops::Fact::Kind::kTensor || fact.dtype == ir::DataType::kUndefined)
      refuse_output(model, *value, "is no tensor of a known type");
    if (std::ranges::find(made.outputs, value->name()) == made.outputs.end()) made.outputs.push_back(value->name());
  }
  made.reference = ir::clone(model);
  end_at(*made.reference->graph, made.outputs, model, facts);
  made.model = ir::clone(*made.reference);
  made.model->path = made.reference->path = model.path;
  rewrite::remove_unused(*made.model);
  ir::Graph& graph = *made.model->graph;
  const std::vector<ir::Value*> inputs = graph.inputs();
  for (ir::Value* input : inputs)
    if (!input->is_used()) graph.remove_input(input);
  // The model's own outputs declare what they did.
  std::vector<ir::Type> declared = rewrite::declared_outputs(*made.model);
  for (size_t i = 0; i < declared.size(); ++i)
    if (!model.graph->find(made.outputs[i])->is_output()) declared[i] = {};
  rewrite::declare_truly(*made.model);
  rewrite::keep_declared_outputs(*made.model, declared);
  model.budget->require(model.path.string());
  return made;
}

}  // namespace thaw::splitting
