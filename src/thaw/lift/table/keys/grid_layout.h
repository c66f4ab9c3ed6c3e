// How the rows of a table are counted: one after the other, or over a grid whose sides are sizes of the model.
//
// A table of h * w rows (or of whole frames of h * w) counts them row by row; in blocks of m x m, (block row, block
// column, row in block, column in block), as image processors that merge patches write them; or window by window, of
// s x s blocks each, those at the right and lower edge cut. A layout gives the row, column and frame of the p-th entry
// and, the other way round, where a row and column stand, as formulas.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/keys/counter.h"

namespace thaw::lifting {

struct Place {
  Formula frame, row, column;
};

class Layout {
 public:
  explicit Layout(Size length) : length_(std::move(length)) {}
  Layout(Size length, Size height, Size width, int64_t block, int64_t window)
      : length_(std::move(length)),
        height_(std::move(height)),
        width_(std::move(width)),
        block_(block),
        window_(window) {}

  bool is_grid() const { return !height_.at.empty(); }
  const Size& length() const { return length_; }
  const Size& height() const { return height_; }
  const Size& width() const { return width_; }
  int64_t block() const { return block_; }
  int64_t window() const { return window_; }
  std::string describe() const;

  Place place(const Formula& index) const;
  Formula index(const Place& place) const;
  // What its entries are counted by: their index, or row, column and frame.
  const std::vector<CounterPtr>& counters() const;
  const Counter& row() const { return *counters()[0]; }
  const Counter& column() const { return *counters()[1]; }

 private:
  Size length_, height_, width_;  // of a grid: in rows and columns of single entries
  int64_t block_ = 1, window_ = 0;
  mutable std::vector<CounterPtr> counters_;
};
using LayoutPtr = std::shared_ptr<const Layout>;

// A side of a grid: a size of the inputs, or its exact part (patches of an image's height).
struct Side {
  const Variable* variable;
  Size size;
};

// Two axes of a tensor that lie side by side and both grow, by how many cells they make up in each trace: the plainest of each.
using Grids = std::map<std::vector<int64_t>, std::vector<std::pair<Size, Size>>>;

// The layouts that tables of one length may have, the simplest first; shared by all tables of that length.
class Layouts {
 public:
  Layouts(Size length, const Solver& solver, const Grids& grids = {});
  const std::vector<LayoutPtr>& plain_and_grids() const { return layouts_; }
  // Grids whose sides tensors have: windows at a deep level, which are larger than any patch. So few cells are met by many
  // a formula by chance: only for tables of wide rows.
  static std::vector<LayoutPtr> grids_of_tensors(const Size& length, const Solver& solver);
  // Window by window, for the grids above.
  const std::vector<LayoutPtr>& windows(int64_t window);

 private:
  std::vector<LayoutPtr> layouts_;
  std::map<int64_t, std::vector<LayoutPtr>> windows_;
};

// Pairs of sides whose product divides each of the totals: height and width, in both orders; last those of squares. Their values are those of
// sizes or their parts; what they are, the solver says, as it does wherever else these values are wanted.
std::vector<std::pair<Side, Side>> possible_grids(const Solver& solver, std::span<const int64_t> totals);

// Sides of windows that the order of the entries speaks for: where a run of one row, or of all columns, ends first.
std::vector<int64_t> possible_windows(const View& view);

}  // namespace thaw::lifting
