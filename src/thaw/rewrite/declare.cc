#include "thaw/rewrite/declare.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/rewrite/size_naming.h"

namespace thaw::rewrite {

using dim::Dim;
using ir::DeclaredDim;
using ir::Value;

namespace {

class Declarer {
 public:
  Declarer(ir::Model& model, Changes& changes, const IsFrozen& is_frozen)
      : model_(model), graph_(*model.graph), changes_(changes), is_frozen_(is_frozen) {}

  void run() {
    result_ = infer::infer(model_, scope_);
    for (Value* v : graph_.inputs()) declared_.push_back(v);
    std::unordered_set<const Value*> seen;
    for (Value* v : graph_.outputs())
      if (!v->is_input() && seen.insert(v).second) declared_.push_back(v);
    for (Value* v : graph_.value_infos()) declared_.push_back(v);
    names_ = SizeNaming({declared_.begin(), declared_.end()}, result_, scope_);
    for (Value* v : declared_) declare(*v);
  }

 private:
  void declare(Value& v) {
    const ops::Fact& fact = result_.fact(&v);
    if (!fact.is_tensor() || v.type.kind != ir::Type::Kind::kTensor) return;
    ir::Type type = v.type;
    if (!v.is_input() && fact.dtype != ir::DataType::kUndefined && fact.dtype != type.elem_type) {
      note(v, "THAW005", "type", ir::name_of(type.elem_type), ir::name_of(fact.dtype));
      type.elem_type = fact.dtype;
    }
    if (fact.shape && (!v.is_input() || type.shape)) {
      if (!type.shape || type.shape->size() != fact.shape->size()) {
        // An output without a shape is true as it is.
        if (type.shape) {
          note(v, "THAW005", "axes", std::to_string(type.shape->size()), std::to_string(fact.shape->size()));
          type.shape.emplace();
          for (Dim d : *fact.shape) type.shape->push_back(names_.declaration(d));
        }
      } else {
        for (size_t axis = 0; axis < fact.shape->size(); ++axis) declare_axis(v, type, axis, (*fact.shape)[axis]);
      }
    }
    if (type == v.type) return;
    v.set_type(std::move(type));
  }

  void declare_axis(Value& v, ir::Type& type, size_t axis, Dim size) {
    DeclaredDim& now = (*type.shape)[axis];
    if (size.is_unknown()) {
      // Nothing is known: a number may be true; a name that is no name says that two sizes are equal.
      if (!now.param.empty() && !names_a_size(now.param))
        change(v, now, DeclaredDim{{}, "", now.denotation}, "THAW004", axis);
      else if (now.value && *now.value <= 0)
        change(v, now, DeclaredDim{{}, "", now.denotation}, "THAW004", axis);
      return;
    }
    DeclaredDim want = names_.declaration(size);
    want.denotation = now.denotation;
    if (want == now) return;
    if (!now.value && size.is_constant() && is_frozen_ && is_frozen_(v, axis)) {
      if (!now.param.empty() && (!v.is_output() || !names_a_size(now.param)))
        change(v, now, DeclaredDim{{}, "", now.denotation}, names_a_size(now.param) ? "THAW003" : "THAW004", axis);
      return;
    }
    // Less said is no lie: a dim without name or value stays so in value_info.
    if (!now.value && now.param.empty() && !v.is_output()) return;
    std::string_view code = now.value                 ? (*now.value <= 0 ? "THAW004" : "THAW005")
                            : names_a_size(now.param) ? "THAW003"
                                                      : "THAW004";
    change(v, now, std::move(want), code, axis);
  }

  void change(Value& v, DeclaredDim& now, DeclaredDim want, std::string_view code, size_t axis) {
    auto text = [](const DeclaredDim& d) {
      return d.value ? std::to_string(*d.value) : d.param.empty() ? std::string("nothing") : "'" + d.param + "'";
    };
    note(v, code, fmt::format("axis {}", axis), text(now), text(want));
    now = std::move(want);
  }

  void note(const Value& v, std::string_view kind, std::string part, std::string_view before, std::string_view after) {
    changes_.made.push_back(
        {std::string(kind), v.name(), std::move(part), {{std::string(before), std::string(after)}}});
  }

  ir::Model& model_;
  ir::Graph& graph_;
  Changes& changes_;
  const IsFrozen& is_frozen_;
  dim::Scope scope_;
  infer::Result result_;
  std::vector<Value*> declared_;
  SizeNaming names_;
};

}  // namespace

void forget_declarations(ir::Graph& graph, Returned returned) {
  const std::vector<ir::Value*> declared = graph.value_infos();
  for (ir::Value* value : declared) graph.clear_value_info(value);
  for (ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) {
      forget_declarations(*inner, returned);
      if (returned == Returned::kKeep) continue;
      for (ir::Value* output : inner->outputs()) output->forget_shape();
    }
  }
}

void declare_truly(PassContext& context, const IsFrozen& is_frozen) {
  Declarer(context.model, context.changes, is_frozen).run();
  context.forget_facts();
}

void declare_truly(ir::Model& model) {
  PassContext undeclared(model);
  declare_truly(undeclared);
}

std::vector<ir::Type> declared_outputs(const ir::Model& model) {
  std::vector<ir::Type> types;
  for (const Value* output : model.graph->outputs()) types.push_back(output->type);
  return types;
}

void keep_declared_outputs(ir::Model& model, const std::vector<ir::Type>& declared) {
  const std::vector<Value*> outputs = model.graph->outputs();
  for (size_t i = 0; i < outputs.size() && i < declared.size(); ++i) {
    const ir::Type& before = declared[i];
    ir::Type type = outputs[i]->type;
    if (outputs[i]->is_input() || type.kind != ir::Type::Kind::kTensor || !before.shape || !type.shape ||
        type.shape->size() != before.shape->size())
      continue;
    for (size_t axis = 0; axis < type.shape->size(); ++axis) {
      const DeclaredDim &was = (*before.shape)[axis], &now = (*type.shape)[axis];
      const bool is_number = was.value && *was.value > 0;
      if (is_number ? !now.value : names_a_size(was.param)) (*type.shape)[axis] = was;
    }
    if (type != outputs[i]->type) outputs[i]->set_type(std::move(type));
  }
}

}  // namespace thaw::rewrite
