#include "thaw/lift/around/beside_cut.h"

#include "thaw/lift/align/slice.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

// Whether the node takes operands of one size, but for the axis along which it joins them.
bool takes_alike(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return (op && op->is_elementwise()) || joins_pieces(node);
}

}  // namespace

bool cuts(const ir::Node& node) { return ops::role_of(node, 1) == ops::Role::kBounds; }

BesideCut beside_cut(const ir::Node& slice) {
  const ir::Node* node = &slice;
  while (node->output(0) && node->output(0)->uses().size() == 1 && !node->output(0)->is_output()) {
    const ir::Use& use = node->output(0)->uses().front();
    if (cuts(*use.node) && use.index == 0) {
      node = use.node;
      continue;
    }
    for (int i = 0; i < static_cast<int>(use.node->inputs().size()) && takes_alike(*use.node); ++i)
      if (i != use.index && use.node->input(i) && !use.node->input(i)->constant()) return {use.node, use.index, i};
    break;
  }
  return {};
}

}  // namespace thaw::lifting
