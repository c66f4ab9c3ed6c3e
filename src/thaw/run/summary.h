// An array in a few figures.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/run/array.h"

namespace thaw::run {

struct Summary {
  // Over the finite elements; nullopt where there is none, and for strings and complex numbers.
  std::optional<double> lowest, highest, mean;
  int64_t nans = 0, infinities = 0;
};

Summary summarize(const Array& array);

}  // namespace thaw::run
