// Pieces of a tensor along one axis, wherever they begin.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

struct Piece {
  ir::Value* whole = nullptr;
  int64_t axis = 0;        // not negative
  int64_t size = 0;        // of the whole along it
  int64_t begin = 0;       // not negative
  int64_t length = 1;      // what there is of it
  bool keeps_axis = true;  // a piece that was picked by one index lacks it
};

// An output of Split, a Slice along one axis by steps of 1, or a Gather of one index, at a constant place. nullopt for
// others, and where the size of the whole is not known.
std::optional<Piece> piece_of(const ir::Value& value, const infer::Result& facts);

}  // namespace thaw::lifting
