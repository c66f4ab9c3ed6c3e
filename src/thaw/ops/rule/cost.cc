#include "thaw/ops/rule/cost.h"

#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Elements of the tensor from an axis on.
Dim elements_from(const Fact& fact, int first) {
  if (!fact.has_rank()) return {};
  Dim elements = 1;
  for (int axis = first; axis < fact.rank(); ++axis) elements = elements * fact.dim(axis);
  return elements;
}

Dim largest_output(NodeView& view) {
  for (int i = 0; i < view.num_outputs(); ++i)
    if (view.wants_output(i) && view.output(i).is_tensor()) return view.output(i).num_elements();
  return {};
}

Dim by_filters(NodeView& view, int weight) {
  return view.output(0).num_elements() * 2 * elements_from(view.input(weight), 1);
}

}  // namespace

Dim flops_of(NodeView& view) {
  const Operator* op = registry().find(view.node());
  if (!op) return {};
  if (op->flops) return op->flops(view);
  switch (op->op_class) {
    case OpClass::kMovement:
    case OpClass::kGenerator:
    case OpClass::kControl:
      return 0;
    case OpClass::kReduction:
      return view.input(0).num_elements();
    case OpClass::kElementwise:
    case OpClass::kOther:
      return largest_output(view);
    case OpClass::kContraction:
      return {};
  }
  return {};
}

Dim flops_of_rows(NodeView& view) {
  const Fact& rows = view.input(0);
  return rows.rank() < 1 ? Dim() : view.output(0).num_elements() * 2 * rows.dim(rows.rank() - 1);
}

Dim flops_of_product(NodeView& view) {
  const Fact& a = view.input(0);
  if (a.rank() < 2) return flops_of_rows(view);
  return view.output(0).num_elements() * 2 * a.dim(a.rank() - (view.attr_int("transA", 0) != 0 ? 2 : 1));
}

Dim flops_of_filters(NodeView& view) { return by_filters(view, 1); }
Dim flops_of_quantized_filters(NodeView& view) { return by_filters(view, 3); }
Dim flops_of_spread_filters(NodeView& view) {
  return view.input(0).num_elements() * 2 * elements_from(view.input(1), 1);
}

}  // namespace thaw::ops
