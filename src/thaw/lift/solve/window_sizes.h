// Sizes that windows make: how many cover a size, the size rounded up to whole ones, and what is missing to it.
//
// A grid of cells is padded to whole windows of m cells along each side (Swin, Liu et al. 2021): ceil(n / m) of them,
// m * ceil(n / m) cells, as many cells of padding; ceil(h / m) * ceil(w / m) windows in all, for each of a batch. n is
// a size or its exact part, as patches are of pixels; strides are windows of 2, rounded down or up. Few traces leave
// room for chance where numbers are large: small windows come first, and then the largest parts.
#pragma once

#include <functional>
#include <span>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

struct WindowLimits {
  int64_t largest_part = 64;  // of a side, that may be covered
  int64_t only = 0;           // windows of this size alone; 0: of any
};

// Hands over what gives the wanted value in each trace, the simplest first, until `take` says that it is enough. sides:
// what may be covered; multiples: what windows over two sides may be counted for each of.
void solve_windows(std::span<const Variable> sides, std::span<const Variable> multiples,
                   std::span<const int64_t> wanted, const std::function<bool(dim::Dim)>& take,
                   WindowLimits limits = {});

}  // namespace thaw::lifting
