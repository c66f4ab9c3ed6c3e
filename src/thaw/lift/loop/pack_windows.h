// Windows of different lengths as one padded batch, and back. Internal to lift/.
//
// n positions along an axis are cut into windows, one after the other. Packed, each window is as long as the longest:
// what is missing at its end repeats its first position, so that no number appears that the window has not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/formula/table_emitter.h"

namespace thaw::lifting {

// Windows of `size` positions, the last of what is left; nullopt where the lists are no such. lengths: by trace.
std::optional<int64_t> equal_windows(std::span<const std::vector<int64_t>> lengths);
// Their lengths, int64 [num_windows], for so many positions (int64 [1]).
ir::Value* emit_equal_windows(TableEmitter& e, ir::Value* positions, int64_t size);

struct WindowNodes {
  ir::Value* lengths = nullptr;  // int64 [num_windows]
  ir::Value* valid = nullptr;    // bool [num_windows, longest]: no padding
  ir::Value* source = nullptr;   // int64 [num_windows, longest]: the position that stands there
  ir::Value* place = nullptr;    // int64 [n]: where each position stands in [num_windows * longest]
};
// positions: n, int64 [1], the sum of the lengths.
WindowNodes emit_windows(TableEmitter& e, ir::Value* lengths, ir::Value* positions);

// x with n positions along an axis -> [num_windows, … longest …], the axis one further.
ir::Value* emit_pack(TableEmitter& e, const WindowNodes& windows, ir::Value* x, int64_t axis, int64_t rank);
// The inverse; axis and rank are those of the result.
ir::Value* emit_unpack(TableEmitter& e, const WindowNodes& windows, ir::Value* packed, int64_t axis, int64_t rank);

}  // namespace thaw::lifting
