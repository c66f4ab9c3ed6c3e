// Windows that a loop cuts of an axis one by one, as an exporter writes them: a Slice each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Windows of one length, at every so many places, as code cuts them that goes on until an axis ends.
struct CutWindows {
  int64_t first = 0;  // where the first one begins
  int64_t length = 0, stride = 0, count = 0;
  // Whether the last one is as long as is left. Otherwise all are whole, and what is left is shorter than a stride.
  bool has_short_last = false;
  // Of a short last one: how much past the last begin is left at least where there is a window, the least and the most that it may be.
  int64_t least_left = 0, most_left = 0;
};

// A part of an axis.
struct AxisPiece {
  int64_t begin = 0, end = 0;
  bool operator==(const AxisPiece&) const = default;
  auto operator<=>(const AxisPiece&) const = default;
};

// What the pieces are that each trace cuts of an axis, in their order, which has these lengths; nullopt where they are no such windows. Behind
// one other piece (a class token) there are windows from three on.
std::optional<CutWindows> windows_of(std::span<const std::vector<AxisPiece>> pieces, std::span<const int64_t> lengths);

// Where every trace cuts axes into such windows side by side, the last of which ends past its axis, as a loop over x[i : i + length] does:
// lets it end with the axis, of which traces tell how long it is.
void end_windows_with_axes(std::vector<Trace>& traces);

}  // namespace thaw::lifting
