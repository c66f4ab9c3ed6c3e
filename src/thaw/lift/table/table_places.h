// Where the entries of a table stand along its axes that grow. Internal to lift/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

using TablePlace = std::vector<int64_t>;  // by axis

// Calls f(place, first of its entries) for each place of a table in a trace, as long as it is true.
template <typename F>
bool each_place(const View& view, size_t trace, const F& f) {
  TablePlace at(view.growing.size(), 0);
  for (size_t entry = 0; entry < view.entries[trace].size(); entry += static_cast<size_t>(view.width)) {
    if (!f(at, entry)) return false;
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < view.growing[axis].at[trace]) break;
      at[axis] = 0;
    }
  }
  return true;
}

// The trace that is the largest along every axis.
inline std::optional<size_t> largest_trace(const View& view) {
  for (size_t k = 0; k < view.traces(); ++k)
    if (std::ranges::all_of(view.growing, [&](const Size& n) { return n.at[k] == std::ranges::max(n.at); })) return k;
  return std::nullopt;
}

}  // namespace thaw::lifting
