#include "thaw/lift/solve/whole_pieces.h"

#include <algorithm>

namespace thaw::lifting {

void keep_whole_pieces(ops::Shape& sizes, std::span<const Variable> axes, std::span<const int64_t> pieces) {
  if (pieces.size() != sizes.size() || axes.size() != sizes.size()) return;
  const auto rounded = [&](size_t i, int64_t piece) { return dim::ceil_div(axes[i].symbol, piece) * dim::Dim(piece); };
  const auto is_kept = [&](size_t i) { return sizes[i].is_symbolic() && dim::same(sizes[i], axes[i].symbol); };
  const auto rounds_other = [&](int64_t piece) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (pieces[i] == piece && sizes[i].is_symbolic() && !is_kept(i) && dim::same(sizes[i], rounded(i, piece)))
        return true;
    return false;
  };
  for (size_t i = 0; i < sizes.size(); ++i)
    if (pieces[i] > 1 && is_kept(i) && rounds_other(pieces[i])) sizes[i] = rounded(i, pieces[i]);
}

}  // namespace thaw::lifting
