// Biases of two lists of which the second counts its positions from 0 again: a text, and the patches of an image behind it
// (LayoutLMv3). Each entry is that of position - position, within a list and from one to the other.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/key.h"

namespace thaw::lifting {
namespace {

// How long the first list may be: a size, or what one leaves.
std::vector<Size> possible_firsts(const Size& both, const TableContext& context) {
  constexpr int64_t kShortest = 2;
  std::vector<Size> firsts;
  for (const Variable& v : context.variables) {
    if (v.kind != Variable::Kind::kDim || !v.varies()) continue;
    const Size size{v.symbol, v.at}, rest = both - size;
    const auto is_list = [](int64_t n) { return n >= kShortest; };
    if (!std::ranges::all_of(size.at, is_list) || !std::ranges::all_of(rest.at, is_list)) continue;
    firsts.push_back(size);
    firsts.push_back(rest);
  }
  return firsts;
}

}  // namespace

std::optional<Sequence> fit_positions_again(const View& view, TableContext& context) {
  if (view.kind != Kind::kReal || view.width != 1 || view.growing[0].at != view.growing[1].at) return std::nullopt;
  for (const Size& first : possible_firsts(view.growing[0], context)) {
    const Size longer = larger_of(first, view.growing[0] - first);
    const auto again = [&](int axis) {
      return choose(less(position(axis), first), position(axis), position(axis) - Formula(first));
    };
    const Key key{fmt::format("of positions that count from 0 again behind the first {}", dim::to_string(first.dim)),
                  {{again(0), longer}, {again(1), longer}}};
    const auto table = by_key(view, key);
    auto fit = table ? fit_diagonals(*table, context) : std::nullopt;
    auto whole = fit ? at_key(std::move(*fit), view, key) : std::nullopt;
    if (whole && holds(view, whole->formula, 0, 1)) return whole;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
