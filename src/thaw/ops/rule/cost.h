// What a node computes and moves, as expressions of the inputs' sizes.
//
// An addition, a multiplication, a comparison or a function of one element is one operation, so that a product of an
// m x k and a k x n matrix takes 2 m n k. What only moves elements computes nothing.
#pragma once

#include "thaw/dim/expr/dim.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// Of the node; unknown of a contraction without a rule and of what Thaw has no entry for. Graphs that the node runs are
// not counted.
dim::Dim flops_of(NodeView& view);

// Rows times columns: each element of the output takes as many products as operand 0's rows, or `operand`'s, have.
dim::Dim flops_of_rows(NodeView& view);
// The same of what may be transposed by transA.
dim::Dim flops_of_product(NodeView& view);
// Convolutions: each element of the output takes a filter of the weight, whose axis 0 counts filters.
dim::Dim flops_of_filters(NodeView& view);            // the weight is operand 1
dim::Dim flops_of_quantized_filters(NodeView& view);  // operand 3
// Each element of the operand takes one, spread over the output.
dim::Dim flops_of_spread_filters(NodeView& view);

}  // namespace thaw::ops
