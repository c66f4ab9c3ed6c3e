// Tables of learned rows over a grid, how they are resized, and what they were before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/table/formula/table_emitter.h"
#include "thaw/math/interpolation.h"

namespace thaw::lifting {

// How an operator Resize takes its entries, as ONNX names it. Cubic: with -0.75, as torch has it, and -0.5 with anti-aliasing, which
// leaves out what is outside, and where a side becomes shorter averages over as many more entries.
struct Resizing {
  const char *mode, *coordinates;
  bool antialias = false;
  // As torch's exporter folds it, with ONNX's reference evaluator: where a place is a last bit behind the entry that it falls on, what
  // is added to pad the entries rounds that away, and the entry before it is taken. Only tables tell that; what is written resizes as meant.
  bool misread = false;
};
// What a table may have been resized by; with anti-aliasing, which opset 18 brought, where the model may have it.
std::vector<Resizing> possible_resizings(bool antialias);
// Whether it is the same with and without anti-aliasing where no side becomes shorter: there nothing tells the two apart.
bool is_same_where_longer(const Resizing& method);
bool has_antialiasing(const ir::Model& model);

// Which entries position i of n takes over `side` of them.
std::vector<math::Tap> taps_at(int64_t i, int64_t n, int64_t side, const Resizing& method);

// A table [1, channels, height, width] in other sizes, of four elements.
ir::Value* emit_resize(ir::Value* table, ir::Value* sizes, const Resizing& method, TableEmitter& emitter);

struct LearnedGrid {
  int64_t height, width, channels;
  std::vector<double> entries;  // [height, width, channels]
  double at(int64_t row, int64_t column, int64_t c) const {
    return entries[static_cast<size_t>((row * width + column) * channels + c)];
  }
};

// Which entries of a side that stand one after another are alike, over the other side and all channels: of each the first of them.
std::vector<int64_t> alike(int64_t side, const std::function<bool(int64_t, int64_t)>& are_near);

// Whether what was resized to these lengths shows three more places than a side has entries that differ, or a quarter more, so that some could contradict
// it. Fewer are what any function of a place gives, as of 3, 4 and 7 places between two ends. Of a side that no trace resizes, or of one entry, nothing is asked.
bool are_told(std::span<const int64_t> lengths, const std::vector<int64_t>& alike, const Resizing& method);

// The smallest grid that `resized` is the larger version of, along both sides or one. Each side is a linear map of the
// learned one, of more equations than unknowns: a length is right where they hold, and the numbers are what solves them.
// scale: the largest entry. nullopt where no smaller grid gives it, or rounding to float32 would be magnified too much.
std::optional<LearnedGrid> recover(const LearnedGrid& resized, const Resizing& method, double scale);

}  // namespace thaw::lifting
