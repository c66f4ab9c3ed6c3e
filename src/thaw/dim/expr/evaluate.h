// What evaluation comes to: a value, or why there is none. Internal to dim/.
#pragma once

#include <cstdint>

namespace thaw::dim {

enum class Outcome : uint8_t {
  kValue,
  kUndefined,  // division by zero, or a broadcast of sizes that do not go together
  kOverflow,
  kMissing,  // a symbol without a value, or an unknown Dim
};

}  // namespace thaw::dim
