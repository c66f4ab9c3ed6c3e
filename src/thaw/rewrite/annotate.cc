#include "thaw/rewrite/annotate.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/size_naming.h"

namespace thaw::rewrite {
namespace {

class Annotator {
 public:
  Annotator(ir::Model& model, const infer::Result& facts) : facts_(facts), graphs_(all_graphs(*model.graph)) {}

  size_t run(const dim::Scope& scope) {
    names_ = SizeNaming(declared(), facts_, scope);
    count_names();
    size_t changed = 0;
    for (ir::Graph* graph : graphs_)
      for (const ir::Node* node : graph->nodes())
        for (ir::Value* output : node->outputs())
          if (output != nullptr && !output->is_output() && declare(*output)) ++changed;
    return changed;
  }

 private:
  std::vector<const ir::Value*> declared() const {
    std::vector<const ir::Value*> list;
    for (const ir::Graph* graph : graphs_) {
      list.insert(list.end(), graph->inputs().begin(), graph->inputs().end());
      list.insert(list.end(), graph->outputs().begin(), graph->outputs().end());
      list.insert(list.end(), graph->value_infos().begin(), graph->value_infos().end());
    }
    return list;
  }

  void count_names() {
    for (const ir::Graph* graph : graphs_) {
      for (const ir::Value* input : graph->inputs()) ++count_[input->name()];
      for (const ir::Value* weight : graph->initializers())
        if (!weight->is_input()) ++count_[weight->name()];
      for (const ir::Node* node : graph->nodes())
        for (const ir::Value* output : node->outputs())
          if (output != nullptr) ++count_[output->name()];
    }
  }

  bool declare(ir::Value& value) const {
    const ops::Fact& fact = facts_.fact(&value);
    const bool is_inner = value.graph()->parent() != nullptr;
    if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined || !fact.shape) return false;
    if (is_inner && count_.at(value.name()) > 1) return false;
    ir::Type type = value.type;
    if (type.kind == ir::Type::Kind::kNone) {
      type.kind = ir::Type::Kind::kTensor;
      type.elem_type = fact.dtype;
    }
    if (type.kind != ir::Type::Kind::kTensor) return false;
    if (type.elem_type == ir::DataType::kUndefined) type.elem_type = fact.dtype;
    if (!type.shape) type.shape.emplace(fact.shape->size());
    if (type.shape->size() != fact.shape->size()) return false;
    for (size_t axis = 0; axis < fact.shape->size(); ++axis)
      fill_in((*type.shape)[axis], (*fact.shape)[axis], is_inner);
    if (type == value.type) return false;
    value.graph()->set_value_info(&value, std::move(type));
    return true;
  }

  void fill_in(ir::DeclaredDim& now, dim::Dim size, bool is_inner) const {
    if (now.value || !now.param.empty()) return;
    // Inside a graph that may run again a size that the data decide is another each time.
    if (is_inner && size.is_symbolic() && dim::is_data_dependent(size)) return;
    ir::DeclaredDim said = names_.declaration(size);
    if (names_.is_disputed(said.param)) return;
    said.denotation = now.denotation;
    now = std::move(said);
  }

  const infer::Result& facts_;
  std::vector<ir::Graph*> graphs_;
  SizeNaming names_;
  std::unordered_map<std::string_view, int> count_;
};

}  // namespace

size_t annotate(ir::Model& model, const infer::Result& facts, const dim::Scope& scope) {
  return Annotator(model, facts).run(scope);
}

}  // namespace thaw::rewrite
