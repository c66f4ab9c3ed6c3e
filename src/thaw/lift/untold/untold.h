// What the traces do not tell of the model that was lifted from them. Internal to lift/.
//
// What was solved is right in every trace. Where their sizes share something, as a parity, a longer side or as many windows, it may be another
// thing elsewhere, and no number says so. Each rule of untold.cc asks that of one thing, and adds to the domain what all traces share.
#pragma once

#include <span>

#include "thaw/lift/domain/needs.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// The model as it was written, less its guard. equal: its inputs' axes that are as long as each other; needs: what its nodes need.
struct Written {
  const Lifting& lifting;
  std::span<const EqualSides> equal;
  const Needs& needs;
};

Domain domain_of(const Written& written);

}  // namespace thaw::lifting
