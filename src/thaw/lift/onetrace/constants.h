// The integers of a graph that may be sizes: constants that a shape is made of.
//
// Looked for are the operands that say a size (the target of a Reshape, the lengths of a Split, the bounds of a Slice,
// Expand, Tile, Range, ConstantOfShape, Resize's sizes, Pad) and the indices of a Gather where they are computed; from
// there through arithmetic and movers of small tensors back to the constants. Constants that hold the same in the same
// role are one: every layer of a tower has its own copy, and what is true of one is likely true of all.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/roles.h"

namespace thaw::lifting::onetrace {

struct Constant {
  std::vector<ir::Use> uses;           // all that hold the same in the same role; other uses of a tensor are not meant
  ops::Role role = ops::Role::kShape;  // of the operand that the size is for
  ir::DataType type = ir::DataType::kInt64;
  std::vector<int64_t> dims, elements;

  // "Reshape 'node' reads 'tensor'", with how many more.
  std::string describe() const;
  // "[1, 11, 2]", "22".
  std::string text() const;
};

// In the order of the nodes that need the sizes. Of the main graph. Not joined: every use is a constant of its own.
std::vector<Constant> size_constants(const ir::Model& model, bool joined = true);

}  // namespace thaw::lifting::onetrace
