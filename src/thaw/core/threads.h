// How many threads compute at a time.
#pragma once

namespace thaw {

// One for each core that the process may use, or Limits::threads where that is less.
int threads_at_once();

}  // namespace thaw
