// Tables that are sums or products of tables of fewer axes. Internal to lift/.
#pragma once

#include <optional>
#include <vector>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {

// Steps through the entries of a trace, by growing axis.
std::vector<size_t> strides_of(const View& view, size_t trace);

// The columns [first, first + count) along some axes, at a place of the others in each trace. anchors: by trace, of each axis.
View columns_along(const View& view, int64_t first, int64_t count, const std::vector<size_t>& axes,
                   const std::vector<std::vector<size_t>>& anchors);

// f(x) + g(y) + …, told by the lines through the first entry or through the one in the middle, where distances are 0; or their
// product, by those through the largest entry. x and y are axes, or several of them that cannot be told apart.
enum class Through : uint8_t { kFirst, kMiddle, kLargest };

// Of integers: what the first of them counts in steps of, so that the rest of the first entry is the others'.
enum class Steps : uint8_t {
  kNone,
  kAlike,  // of one number in all traces
  kEach    // of a number in each
};

// Of a single column.
std::optional<Generated> fit_separate(const Given& table, Through through, Steps steps, Fit& fit_side);

}  // namespace thaw::lifting
