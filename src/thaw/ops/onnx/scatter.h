// The operators that write elements by index; part of the gather family.
#pragma once

namespace thaw::ops {

class Registry;

// Scatter, ScatterElements, ScatterND, TensorScatter.
void add_scatter_ops(Registry&);

}  // namespace thaw::ops
