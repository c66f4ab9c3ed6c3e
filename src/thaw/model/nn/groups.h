// Attention inside groups of rows - windows, frames, chunks - as a batch of padded groups.
//
// A packed sequence of rows (patches of several images, tokens of several clips) falls into groups that attend to
// themselves only. Groups differ in length, so each gets as many slots as the longest may need, and slots without a row
// are masked. The cost is that of [groups, slots, slots], linear in the number of groups; no mask of rows by rows, no
// loop. DESIGN: "windows as a batch axis".
#pragma once

#include "thaw/model/nn/net.h"

namespace thaw::model {

struct Groups {
  Var row;              // int64 [groups, slots]: the row in each slot; 0 where there is none
  Var present;          // bool [groups, slots]
  Var location;         // int64 [rows]: where in the flattened [groups * slots] each row is
  Var mask;             // [groups, 1, 1, slots] in the activations' type: 0, or a number that softmax makes 0 of
  bool bounded = true;  // the architecture bounds the slots (windows, chunks); false: they grow with the input
  // int64 [2], groups and slots, where rows stand in order, as many in each group: nothing is moved or masked then, and
  // what stands above is not there.
  Var even;
};

// present: bool [groups, slots] -> Groups::mask.
Var slot_mask(Var present);

// Fills in the mask.
Groups make_groups(Var row, Var present, Var location, bool bounded);

// Groups of equally many rows, which stand in order; both int64 scalars.
Groups even_groups(Var groups, Var slots);

// For each index, in which of the intervals [0, ends[0]), [ends[0], ends[1]), … it lies: int64, of the shape of `index`
// [n]; ends: int64 [intervals], not falling. An index past the last end yields the number of intervals.
Var interval_of(Var index, Var ends);

// Scaled dot-product attention (Vaswani et al., 2017) of each row over the rows of its group.
// q, k, v [rows, heads * head_dim] -> [rows, heads * head_dim]. scale: 1/sqrt(head_dim) unless given.
Var attend_in_groups(Var q, Var k, Var v, const Groups& groups, int64_t heads, int64_t head_dim, double scale = 0);

// The same for groups that stand as a batch already: q, k, v [groups, slots, heads * head_dim] -> the same shape.
// mask and bounded: as in Groups; without a mask every slot counts. A group without a single row attends to all its slots alike; nothing becomes NaN.
Var attend_in_batch(Var q, Var k, Var v, Var mask, bool bounded, int64_t heads, int64_t head_dim, double scale = 0);

// A number of the type that, added to a score, makes its softmax 0.
double masked_score(ir::DataType type);

}  // namespace thaw::model
