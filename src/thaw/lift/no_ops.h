// Pads and Slices that do nothing in any trace. Internal to lift/.
//
// A model has them where it fills an axis up to whole windows, or cuts it down to whole pieces, by amounts that it computes. Where the
// traces' sizes share a divisor, nothing says what they do at other sizes.
#pragma once

#include <vector>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// The sizes of the axes that they stand at: of a Pad whose amounts are 0 in every trace and are taken for constants, and of a Slice from
// 0 to a constant that is solved as the end of the axis.
std::vector<dim::Dim> sizes_at_no_ops(const Lifting& lifting);

// Whether the file's exporter writes nodes that do nothing, as TorchScript's does. That of torch.export takes them out, and so do others
// with an optimizer behind them: of what they write nothing is known.
bool keeps_no_ops(const ir::Model& trace);

}  // namespace thaw::lifting
