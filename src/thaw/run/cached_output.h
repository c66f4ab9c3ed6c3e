// What one run of a model leaves for the next.
#pragma once

#include <string>

namespace thaw::run {

// An output of one run that is an input of the next, unless that is fed.
struct CachedOutput {
  std::string output, input;
};

}  // namespace thaw::run
