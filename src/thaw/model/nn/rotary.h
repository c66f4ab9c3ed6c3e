// Rotary position embedding (Su et al., 2021), with the halves of a head as the pairs: element j turns with j + d/2.
#pragma once

#include "thaw/model/nn/net.h"

namespace thaw::model {

struct Rotary {
  Var cos, sin;  // [..., d/2] in the activations' type: the angles of one position, for half a head
};

// angles: float32 [..., d/2]; scale multiplies cos and sin.
Rotary rotary_from_angles(Var angles, ir::DataType type, double scale = 1.0);

// x [..., head_dim] with cos and sin that broadcast to [..., rotary_dim / 2]: the first rotary_dim elements turn.
Var rotate(Var x, Var cos, Var sin, int64_t head_dim, int64_t rotary_dim);

// x [rows, heads * d] with r.cos [rows, d/2] -> the same, rotated. The first d of each head's head_dim elements turn,
// where d is twice the last axis of r.cos; the rest stays.
Var rotate_rows(Var x, const Rotary& r, int64_t heads, int64_t head_dim, int64_t rotary_dim);

}  // namespace thaw::model
