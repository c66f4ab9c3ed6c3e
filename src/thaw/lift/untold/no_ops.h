// Pads and Slices that do nothing in any trace, and Pads that do the same in all. Internal to lift/.
//
// A model has them where it fills an axis up to whole windows, or cuts it down to whole pieces, by amounts that it computes. Where the
// traces' sizes share a divisor, nothing says what they do at other sizes.
#pragma once

#include <vector>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

struct AtNoOps {
  std::vector<WholeSize> sizes;
  std::vector<Undecided> given_back;
};

// sizes: of the axes that they stand at: of a Slice from 0 to a constant that is solved as the end of the axis, and of what a Pad makes
// by amounts that are taken for constants: none, or so many as fill up whole windows in every trace. With the windows' length, where the
// readers tell it.
// given_back: what Pads make by such amounts, and another size that is as large in every trace: they may give back what was cut off it.
AtNoOps at_no_ops(const Lifting& lifting);

// Whether the file's exporter writes nodes that do nothing, as TorchScript's does. That of torch.export takes them out, and so do others
// with an optimizer behind them: of what they write nothing is known.
bool keeps_no_ops(const ir::Model& trace);

}  // namespace thaw::lifting
