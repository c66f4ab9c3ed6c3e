#include "thaw/lift/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text.h"

namespace thaw::lift {
namespace {

constexpr int64_t kBlocks[] = {1, 2, 3, 4};
constexpr size_t kMostLayouts = 64;

// Coordinates of the rows of frames of height x width, in blocks.
void place_rows(int64_t length, int64_t height, int64_t width, int64_t block, std::vector<int64_t>& rows,
                std::vector<int64_t>& columns) {
  const int64_t frame = height * width, across = width / block, unit = block * block;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t in_frame = i % frame, in_block = in_frame % unit, at = in_frame / unit;
    rows.push_back(at / across * block + in_block / block);
    columns.push_back(at % across * block + in_block % block);
  }
}

// A side of a grid: a size of the inputs, or its exact part (patches of an image's height).
struct Side {
  const Variable* variable;
  dim::Dim dim;
  std::vector<int64_t> at;
};

std::vector<Side> possible_sides(std::span<const Variable> variables, const std::vector<int64_t>& lengths) {
  constexpr int64_t kLargestPatch = 64;
  std::vector<Side> sides;
  for (const Variable& v : variables) {
    for (int64_t part = 1; part <= kLargestPatch; ++part) {
      Side side{&v, part == 1 ? v.symbol : dim::floor_div(v.symbol, part), {}};
      bool exact = true, more = false, less = false, divides = true;
      for (size_t k = 0; k < lengths.size(); ++k) {
        const int64_t at = v.at[k] / part;
        exact &= v.at[k] % part == 0;
        more |= at > 1;  // a side is more than one row, and less than all of them
        less |= at < lengths[k];
        divides &= at > 0 && lengths[k] % at == 0;
        side.at.push_back(at);
      }
      if (exact && more && less && divides) sides.push_back(std::move(side));
    }
  }
  return sides;
}

// Whether grids of these sides make up the tables: one each, or as many as some size of the inputs says.
bool make_up(const Side& h, const Side& w, const std::vector<int64_t>& lengths, std::span<const Variable> variables) {
  std::vector<int64_t> frames;
  bool varies = false;
  for (size_t k = 0; k < lengths.size(); ++k) {
    if (lengths[k] % (h.at[k] * w.at[k]) != 0) return false;
    frames.push_back(lengths[k] / (h.at[k] * w.at[k]));
    varies |= h.at[k] != h.at[0] || w.at[k] != w.at[0];
  }
  const bool single = std::all_of(frames.begin(), frames.end(), [](int64_t n) { return n == 1; });
  return varies &&
         (single || std::any_of(variables.begin(), variables.end(), [&](const Variable& v) { return v.at == frames; }));
}

}  // namespace

std::string Layout::describe() const {
  if (!is_grid()) return "a row each";
  const std::string sides = fmt::format("{} x {}", dim::to_string(height), dim::to_string(width));
  return block == 1 ? "rows of a grid " + sides : fmt::format("blocks of {0} x {0} in a grid {1}", block, sides);
}

std::vector<Layout> possible_layouts(dim::Dim length, std::span<const int64_t> lengths,
                                     std::span<const Variable> variables) {
  const std::vector<int64_t> all(lengths.begin(), lengths.end());
  Layout plain;
  plain.length = length;
  plain.lengths = all;
  std::vector<Layout> layouts{plain};
  const std::vector<Side> sides = possible_sides(variables, all);
  for (const Side& h : sides) {
    for (const Side& w : sides) {
      if (h.variable == w.variable || !make_up(h, w, all, variables)) continue;
      for (const int64_t block : kBlocks) {
        const bool whole = std::equal(h.at.begin(), h.at.end(), w.at.begin(),
                                      [&](int64_t a, int64_t b) { return a % block == 0 && b % block == 0; });
        if (!whole || layouts.size() == kMostLayouts) continue;
        Layout grid = plain;
        grid.height = h.dim;
        grid.width = w.dim;
        grid.block = block;
        grid.heights = h.at;
        grid.widths = w.at;
        for (size_t k = 0; k < all.size(); ++k) {
          place_rows(all[k], h.at[k], w.at[k], block, grid.rows.emplace_back(), grid.columns.emplace_back());
        }
        layouts.push_back(std::move(grid));
      }
    }
  }
  return layouts;
}

LayoutNodes emit_layout(const Layout& layout, TableEmitter& e) {
  LayoutNodes nodes;
  nodes.index = e.arange(layout.length);
  if (!layout.is_grid()) return nodes;
  ir::Value* frame = e.size(layout.height * layout.width);
  ir::Value* in_frame = e.remainder(nodes.index, frame);
  if (layout.block == 1) {
    ir::Value* width = e.size(layout.width);
    nodes.row = e.div(in_frame, width);
    nodes.column = e.remainder(in_frame, width);
    return nodes;
  }
  ir::Value *side = e.ints({layout.block}), *unit = e.ints({layout.block * layout.block});
  ir::Value* across = e.size(dim::floor_div(layout.width, layout.block));
  ir::Value *at = e.div(in_frame, unit), *in_block = e.remainder(in_frame, unit);
  nodes.row = e.add(e.mul(e.div(at, across), side), e.div(in_block, side));
  nodes.column = e.add(e.mul(e.remainder(at, across), side), e.remainder(in_block, side));
  return nodes;
}

}  // namespace thaw::lift
