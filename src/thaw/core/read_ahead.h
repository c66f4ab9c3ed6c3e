// Files that are read while what came before is worked on.
#pragma once

#include <cstddef>
#include <span>

namespace thaw {

// Asks the system to read these mapped bytes, and does not wait: those that are read next. Nothing happens for others.
void read_ahead(std::span<const std::byte> bytes);

}  // namespace thaw
