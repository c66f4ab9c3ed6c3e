#include "thaw/optimize/loop_bodies.h"

namespace thaw::optimizing {

std::shared_ptr<ir::Graph> graph_of(const ir::Node& node, std::string_view attribute) {
  const ir::Attribute* given = node.attribute(attribute);
  const auto* graph = given ? given->as<std::shared_ptr<ir::Graph>>() : nullptr;
  return graph ? *graph : nullptr;
}

bool runs_all_rounds(const ir::Node& loop, const ir::Graph& body) {
  return loop.inputs().size() >= 2 && loop.input(0) && (!loop.input(1) || is_true(loop.input(1))) &&
         body.inputs().size() == loop.inputs().size() && !body.outputs().empty() && goes_on(body);
}

ir::Value* rows_taken(const ir::Node& gather, const ir::Node& loop, const ir::Graph& body,
                      const infer::Inference& facts) {
  if (gather.op_type() != "Gather" || !gather.domain().empty() || gather.inputs().size() != 2) return nullptr;
  ir::Value* rows = gather.input(0);
  const ops::Fact &table = facts.fact(rows), &position = facts.fact(gather.input(1)),
                  &count = facts.fact(loop.input(0));
  const int64_t axis = gather.attribute_int("axis", 0);
  if (rows->graph() == &body || behind_identities(gather.input(1)) != body.inputs()[0] || position.rank() != 0 ||
      table.rank() < 1 || (axis != 0 && axis != -table.rank()))
    return nullptr;
  const bool has_count = count.elements && count.elements->size() == 1;
  return has_count && dim::same(count.elements->front().as_dim(), table.dim(0)) ? rows : nullptr;
}

}  // namespace thaw::optimizing
