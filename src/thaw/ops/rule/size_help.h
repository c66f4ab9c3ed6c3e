// Statements about sizes that shape rules share: what ranges tell at once, and divisions that must be even.
#pragma once

#include <cstdint>
#include <string_view>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// Known, by interval arithmetic alone, to be at least (at most) the bound. False for unknown.
bool at_least(dim::Dim d, int64_t bound);
bool at_most(dim::Dim d, int64_t bound);

// a / b where the operator demands that b divides a: exact as a polynomial where possible, else floor(a/b) and the
// obligation.
dim::Dim divide_evenly(Context& ctx, dim::Dim a, dim::Dim b, std::string_view what, At at_a = {}, At at_b = {});

// Output `o` is a tensor of this element type of which nothing else is known.
void unknown_tensor(Context& ctx, int o, ir::DataType dtype);
// Every wanted output from `first` on is a tensor like this.
void unknown_tensors(Context& ctx, int first, ir::DataType dtype);

}  // namespace thaw::ops
