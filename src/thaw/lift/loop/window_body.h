// The body of an unrolled loop: taken out of the first trace, batched over the windows, and put back. Internal to
// lift/.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/lift/align/align.h"
#include "thaw/lift/align/trace_shapes.h"
#include "thaw/lift/loop/pack_windows.h"

namespace thaw::lifting {

// A model of the body for all windows at once. Inputs: the slices of each Split, the mask of the padding, and what the
// branches share; a slice or result has the windows as an axis before its own, or instead of a first axis of 1.
struct LoopBody {
  std::unique_ptr<ir::Model> model;
  struct Cut {
    int64_t axis = 0, rank = 0;
  };
  std::vector<Cut> slices, results;                     // by Split; by join
  std::vector<std::pair<const ir::Node*, int>> shared;  // by input: a node of the first trace and its operand
};

// Why a loop stays unrolled: a clause.
struct CannotRoll {
  std::string why;
};

// Leaves the trace as it is. Constants that differ between the branches become expressions of the window's length.
// Throws CannotRoll.
LoopBody batched_body(const Loop& loop, const Alignment& alignment, const TraceShapes& shapes, const ir::Model& first);

// Emits the body before the loop's first join and lets everything read its results.
void put_body(const LoopBody& body, const Loop& loop, const WindowNodes& windows, TableEmitter& before_join,
              ir::Graph& graph);

}  // namespace thaw::lifting
