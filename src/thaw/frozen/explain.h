// Seeing through the nodes at which a frozen model loses its symbols.
//
// With the sizes known at which the model was frozen, a Reshape of [B, S, 64] to the constants [2, 11, 4, 16] can be
// read as [B, S, 4, 16]: dims are grouped where their products agree, and a group's symbols carry over. Every function
// here replaces the facts of the visited node's outputs and returns the meetings of an expression with a constant that
// it saw.
#pragma once

#include <optional>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::frozen {

// A size that an operand of a node fixes where the inputs should.
struct Meeting {
  int input = -1;    // the operand that holds the constant
  int element = -1;  // of a shape operand: which element; of a table: which axis
  int64_t value = 0;
  dim::Dim expression;
  bool is_shape = false;  // the constant is an element of the operand, not one of its dims
  bool is_index = false;  // the operand is a table of indices
  bool weak = false;      // suspicious only in a model that is frozen elsewhere too
  bool silent = false;
  bool product = false;
};

std::vector<Meeting> explain(const infer::NodeVisit& visit, const dim::Assignment& hints);

// The elements of input i, where they are followed.
std::optional<std::vector<dim::Dim>> operand_elements(const infer::NodeVisit& visit, int i);

}  // namespace thaw::frozen
