#include "thaw/ops/rule/rounds.h"

#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

dim::Dim rounds_of(NodeView& view, const ir::Graph& inner) {
  const Operator* op = registry().find(view.node());
  return op && op->rounds ? op->rounds(view, inner) : dim::Dim();
}

}  // namespace thaw::ops
