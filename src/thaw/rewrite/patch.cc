#include "thaw/rewrite/patch.h"

namespace thaw::rewrite {

void Patch::replace(ir::Value* old, ir::Value* now) {
  ir::Graph& graph = *old->graph();
  const bool is_output = old->is_output();
  const std::string name = old->name();
  if (is_output && now->type.kind == ir::Type::Kind::kNone) now->set_type(old->type);
  graph.replace_uses(old, now);
  if (!is_output || now->is_input()) return;
  graph.rename(old, graph.unique_name(name + "_replaced"));
  graph.rename(now, name);
}

void Patch::apply(infer::Inference& facts) {
  facts.update(edit_.touched(), edit_.declared());
  edit_.keep();
}

}  // namespace thaw::rewrite
