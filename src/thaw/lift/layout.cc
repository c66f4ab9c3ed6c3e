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

// A grid's side is more than one row, and less than all of them.
bool is_side(const Variable& v, const std::vector<int64_t>& lengths) {
  bool more = false, less = false;
  for (size_t k = 0; k < lengths.size(); ++k) {
    more |= v.at[k] > 1;
    less |= v.at[k] < lengths[k];
  }
  return more && less;
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
  for (const Variable& h : variables) {
    for (const Variable& w : variables) {
      if (&h == &w || !is_side(h, all) || !is_side(w, all)) continue;
      bool fits = true, varies = false;
      for (size_t k = 0; k < all.size() && fits; ++k) {
        fits = h.at[k] > 0 && w.at[k] > 0 && h.at[k] * w.at[k] <= all[k] && all[k] % (h.at[k] * w.at[k]) == 0;
        varies |= h.at[k] != h.at[0] || w.at[k] != w.at[0];
      }
      if (!fits || !varies) continue;
      for (const int64_t block : kBlocks) {
        const bool whole = std::equal(h.at.begin(), h.at.end(), w.at.begin(),
                                      [&](int64_t a, int64_t b) { return a % block == 0 && b % block == 0; });
        if (!whole || layouts.size() == kMostLayouts) continue;
        Layout grid = plain;
        grid.height = h.symbol;
        grid.width = w.symbol;
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
