// Memory in large pages from the start.
//
// A model's graph is tens of thousands of small objects, and the command is done in milliseconds: the page faults
// behind them took a third of the time of `inspect`. Nothing else depends on it; where the system has no large pages,
// or another allocator is in place, nothing happens.
#pragma once

namespace thaw::cli {

// Call once, early in main.
void prefer_large_pages();

}  // namespace thaw::cli
