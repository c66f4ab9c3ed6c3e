// How much memory there is left.
#pragma once

#include <cstdint>
#include <optional>

namespace thaw {

// Bytes that this process may still take without others having to make room: what the system calls available, or what
// is left to its control group where that is less. nullopt where the system does not say.
std::optional<uint64_t> available_memory();

}  // namespace thaw
