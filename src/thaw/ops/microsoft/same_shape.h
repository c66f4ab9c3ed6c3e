// Shape rules of outputs that are shaped as operand 0 with others, or all but its last axis.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// Each of these operands broadcasts to operand 0.
void keep_shape_with(Context& ctx, std::initializer_list<int> others, std::string_view what);
// The shape with another size for its last axis; nullopt where it has no last axis, or its rank is not known.
std::optional<Shape> with_last(const Fact& x, dim::Dim last);

}  // namespace thaw::ops
