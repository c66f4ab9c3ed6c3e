// How far the axes go that a lifted model reads by index. Internal to lift/.
//
// Positions that grow are read from a table that was as long in every trace: past its end ONNX Runtime ends with an error of its own.
// Inference knows the largest index, and what it must be below.
#pragma once

#include <span>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/domain.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Those that hold in every trace, and not at any larger size; in the scope's symbols. Sizes that are above 0 in every trace are.
std::vector<Limit> index_limits(const ir::Model& lifted, std::span<const Variable> variables, dim::Scope& scope);

// What Pads add to fill windows of a grid, which shrink with it in some models (Swin); chunks of a sequence are filled up. What a kernel
// steps over is no window of its own.
std::vector<dim::Dim> amounts_of_windows(const Lifting& lifting);

// Sizes that are filled up to whole windows, and are shorter than one in no trace: code may shrink its windows to those that are (Swin).
// filled: what Pads add for that, and what was guessed. loops: lengths of windows that are cut one by one, of which the last may be short.
std::vector<Limit> window_limits(std::span<const dim::Dim> emitted, std::span<const dim::Dim> filled,
                                 std::span<const int64_t> loops, std::span<const Variable> variables);

// What Pads add, where Slices begin and end and sizes that nodes take, where that is below 0 in no trace, but is at larger sizes; of Pads, at
// any. A Pad cuts there and a Slice counts from the end, and what the traces have may be max(w - h, 0).
std::vector<Limit> sign_limits(const Lifting& lifting);

// Lengths of tables, a difference of sizes among them, that may be below 0 at sizes no smaller than the traces'.
std::vector<Limit> length_limits(std::span<const dim::Dim> lengths, std::span<const Variable> variables);

}  // namespace thaw::lifting
