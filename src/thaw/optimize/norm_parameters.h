// Weights and biases of norms: constants that hold a number for each position of some axes of what is normed.
#pragma once

#include <string_view>

#include "thaw/ops/rule/emit.h"
#include "thaw/rewrite/match.h"

namespace thaw::optimizing {

// Axes of a tensor that follow each other.
struct AxisRange {
  int first = 0, count = 0;
};

// Whether a parameter, lined up with the data at the right as arithmetic does, has the data's dims along these axes and 1
// everywhere else, and the data's type.
bool lies_along(const ops::Fact& parameter, const ops::Fact& data, AxisRange axes);

// The same numbers in a tensor of just these dims: the parameter itself, a constant in its place where nothing else reads
// it, else a Reshape of it.
ir::Value* as_dims(ir::Value* parameter, const ops::Fact& fact, const ops::Fact& data, AxisRange axes,
                   const ops::Emit& at);

// A tensor of one number, in as few bytes as it takes in the file: a small constant, or ConstantOfShape. Throws
// ops::CannotWrite where the opset has neither for the type.
ir::Value* filled(double number, std::vector<int64_t> dims, ir::DataType type, const ops::Emit& at);

// Whether a value is such a tensor, as far as it is a small constant or made by filled().
bool is_filled_with(const ir::Value* value, double number);

// The sizes of axes where all are numbers; nullopt for others.
std::optional<std::vector<int64_t>> constant_dims(const ops::Fact& data, AxisRange axes);

}  // namespace thaw::optimizing
