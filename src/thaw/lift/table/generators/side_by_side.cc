// Tables that stand side by side: two or three as large as the other axis is long, one after another; or one column, and a mask.
//
// Attention of several streams over one list (ProphetNet) has its masks and distances in one table [n, 2 n], some behind a first column
// that every position may see. Each is fitted for itself.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// The lengths of pieces along an axis that are as long as the other one, in every trace; none where it is not made up of these.
std::vector<Size> equal_pieces(const View& view, size_t axis) {
  constexpr int64_t kMostPieces = 4;
  const Size &whole = view.growing[axis], &piece = view.growing[1 - axis];
  const int64_t count = piece.at[0] == 0 ? 0 : whole.at[0] / piece.at[0];
  for (size_t k = 0; k < view.traces(); ++k)
    if (whole.at[k] != count * piece.at[k]) return {};
  if (count < 2 || count > kMostPieces || !dim::same(whole.dim, piece.dim * dim::Dim(count))) return {};
  return std::vector<Size>(static_cast<size_t>(count), piece);
}

View piece_of(const View& view, size_t axis, const Size& begin, const Size& length) {
  View piece = view.without_entries();
  piece.growing[axis] = length;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t across = view.growing[1].at[k], row = axis == 0 ? begin.at[k] : 0,
                  column = axis == 1 ? begin.at[k] : 0;
    for (int64_t i = 0; i < piece.growing[0].at[k]; ++i) {
      const auto from = view.entries[k].begin() + (row + i) * across + column;
      piece.entries[k].insert(piece.entries[k].end(), from, from + piece.growing[1].at[k]);
    }
  }
  return piece;
}

std::optional<Generated> fit_pieces(const Given& table, size_t axis, std::span<const Size> lengths, Fit& fit) {
  const Size one = constant_size(1, table.view.traces());
  const Formula along = position(static_cast<int>(axis));
  Size end = table.view.growing[axis];
  std::string description;
  Formula formula;
  for (size_t i = lengths.size(); i-- > 0;) {
    const Size begin = end - lengths[i];
    const View piece = piece_of(table.view, axis, begin, lengths[i]);
    const auto own = fit({piece, table.context});
    if (!own) return std::nullopt;
    // Where another piece stands, a place within this one: what a table has no entry for is an error.
    const Formula within = smaller(larger(along - begin, Formula(0)), Formula(lengths[i] - one));
    const Formula places[] = {axis == 0 ? within : position(0), axis == 1 ? within : position(1)};
    const auto here = substitute(own->formula(), places);
    if (!here) return std::nullopt;
    formula = formula ? choose(less(along, end), *here, formula) : *here;
    description =
        description.empty() ? own->description : fmt::format("{}; beside it {}", own->description, description);
    end = begin;
  }
  return checked(table.view, formula, std::move(description));
}

std::optional<Generated> fit_number_or_mask(const Given& table) {
  auto fit = fit_constant(table);
  return fit ? fit : fit_mask(table);
}

}  // namespace

std::optional<Generated> fit_side_by_side(const Given& table) {
  for (const size_t axis : {size_t{1}, size_t{0}})
    if (const std::vector<Size> pieces = equal_pieces(table.view, axis); !pieces.empty())
      if (auto fit = fit_pieces(table, axis, pieces, fit_together)) return fit;
  return std::nullopt;
}

std::optional<Generated> fit_mask_after_first(const Given& table) {
  const Size &columns = table.view.growing[1], one = constant_size(1, table.view.traces());
  if (std::ranges::min(columns.at) < 2 || !two_values(table.view)) return std::nullopt;
  const Size lengths[] = {one, columns - one};
  return fit_pieces(table, 1, lengths, fit_number_or_mask);
}

}  // namespace thaw::lifting
