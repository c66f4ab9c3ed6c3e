#include "thaw/sensitivity/rows_of_section.h"

#include "thaw/batch/rows_apart.h"
#include "thaw/infer/infer.h"

namespace thaw::measuring {

std::optional<std::set<std::string>> rows_of_section(ir::Model& part, const rewrite::BoundaryValues& types,
                                                     const std::string& axis) {
  std::set<std::string> names;
  std::vector<ir::Value*> rows;
  for (ir::Value* input : part.graph->inputs()) {
    const auto type = types.find(input->name());
    if (type == types.end() || !type->second.shape) return std::nullopt;
    input->set_type(type->second);
    const std::vector<ir::DeclaredDim>& dims = *type->second.shape;
    if (dims.empty() || dims.front().param != axis) continue;
    names.insert(input->name());
    rows.push_back(input);
  }
  if (rows.empty()) return std::nullopt;
  dim::Scope scope;
  const infer::Result facts = infer::infer(part, scope);
  if (!batching::are_rows_apart(part, facts, rows)) return std::nullopt;
  const dim::Dim samples = facts.fact(rows.front()).dim(0);
  for (const ir::Value* output : part.graph->outputs())
    if (const ops::Fact& fact = facts.fact(output); fact.has_rank() && fact.rank() > 0 && same(fact.dim(0), samples))
      names.insert(output->name());
  return names;
}

}  // namespace thaw::measuring
