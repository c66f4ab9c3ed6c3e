// What a build may be told.
#pragma once

#include <cstdint>
#include <string>

#include "thaw/build.h"

namespace thaw::model {

using thaw::Lora;
using Target = thaw::BuildTarget;
using Options = thaw::BuildOptions;

}  // namespace thaw::model
