// Pads that are the same in every trace and belong to others that are not. Internal to lift/.
//
// A network whose convolutions pad up to whole windows (TensorFlow's "same") pads before some of them alike in all traces,
// where none of the sizes there lacks anything, or all lack as much. Other convolutions of the same kernel and stride tell
// what such a Pad does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "thaw/lift/align/align.h"

namespace thaw::lifting {

inline constexpr int kPadAmounts = 1;  // which operand of a Pad they are

// What cuts windows: its operator, their sides and strides.
using WindowCut = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>>;

// That of the one node that reads what a Pad makes; nullopt where there are more, or it cuts none.
std::optional<WindowCut> window_cut_after(const ir::Node& pad);

// By which numbers what reads a Pad cuts its result.
using WindowsOfPads = std::unordered_map<const ir::Node*, std::vector<int64_t>>;

// Which ends of its axes a Pad fills otherwise from trace to trace.
struct DifferingEnds {
  bool before = false, after = false;
};
DifferingEnds differing_ends(const Difference& pads);

// Adds these Pads to the differences: their amounts are solved like those of the others, by the sizes of their own data.
// Notes at each Pad which ends of an axis any of its kind fills.
void note_steady_pads(Alignment& alignment);

}  // namespace thaw::lifting
