// How high the waves of a table are, that is the same for all of its columns: YaRN multiplies its cosines and sines by a
// number of its own. Internal to lift/.
#pragma once

#include <optional>

#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

// Told by the first column of the longest trace, the fastest wave. nullopt where that is none, or 1 high, and of a few
// columns, which do not tell that they share it.
std::optional<double> amplitude_of(const View& list);

}  // namespace thaw::lifting
