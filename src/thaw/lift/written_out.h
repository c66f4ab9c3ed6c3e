// Steps of a loop that every trace has as many of: one chunk, because all of them are shorter than two.
//
// A loop over chunks is written out a step for each, and reads the chunks by their numbers. Where the traces have as many
// chunks, nothing differs between them but the last one's length, and nothing contradicts another number: the rest would
// be passed over without a word. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "thaw/lift/steady_sizes.h"

namespace thaw::lifting {

struct Lifting;

// Those that are read place by place, every place that the traces have.
std::vector<SteadySize> written_out(std::span<const SteadySize> steady);

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
struct Piece {
  int64_t begin = 0, end = 0;
  bool operator==(const Piece&) const = default;
  auto operator<=>(const Piece&) const = default;
};

// What the pieces are that each trace cuts of an axis, in their order, which has these lengths; nullopt where they are no such windows. Behind
// one other piece (a class token) there are windows from three on.
std::optional<CutWindows> windows_of(std::span<const std::vector<Piece>> pieces, std::span<const int64_t> lengths);

// Notes that their number is what it is in the traces, for each axis that is cut into as many such windows in all of them. Where a Slice ends
// past what each trace has, as the only one of such windows does: that there is no more.
void note_cut_windows(Lifting& l);

}  // namespace thaw::lifting
