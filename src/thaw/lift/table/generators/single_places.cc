// Places of one length on another, as float32 has them.
//
// Linear interpolation, as PyTorch's decompositions write it: place = scale * (index + 0.5) - 0.5, not below 0, with
// scale = side / length, or scale * index with corners on corners, scale = (side - 1) / (length - 1); the entries before
// and after the place, and the weight of the one after (torch/_decomp/decompositions.py, _compute_source_index).
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

struct Scaled {
  const char* name;
  Formula place;
};

std::vector<Scaled> scaled_places(const Size& n, int64_t side) {
  const Formula index = as_real(position(0)), half = real_number(0.5);
  const Formula steps = larger(n - constant_size(1, n.at.size()), Formula(1));
  const auto scale = [](const Formula& of, const Formula& under) { return in_single(as_real(of) / as_real(under)); };
  const Formula centre = in_single(scale(Formula(side), n) * (index + half));
  return {{"centre by centre", larger(in_single(centre - half), real_number(0))},
          {"corners on corners", in_single(scale(Formula(side - 1), steps) * index)}};
}

// Where fractions of the length, index / length, fall among those of a side, as torch.bucketize counts them: those that are
// equal hang on how both were rounded (NaViT's positions of Idefics 2 and 3, modeling_idefics3.py).
std::vector<Formula> buckets(const Size& n, int64_t side) {
  const Formula index = position(0), low = index * Formula(side) / n;
  // All twice as large: of 1 / n times the index, ONNX Runtime makes index / n, which is rounded otherwise.
  const Formula fraction = in_single(as_real(index) * in_single(real_number(2) / as_real(n)));
  // Where each bucket begins: k steps from the first on, the step as it is or rounded before, as torch.arange has them where
  // it is run and where it is taken apart.
  const double step = 1.0 / static_cast<double>(side), rounded = static_cast<float>(step);
  std::vector<double> exact{0}, single{0};
  for (int64_t k = 1; k < side; ++k) {
    exact.push_back(2 * static_cast<float>(step * static_cast<double>(k)));
    single.push_back(2 * static_cast<float>(rounded * static_cast<double>(k)));
  }
  std::vector<Formula> counted;
  for (std::vector<double>& begins : {std::ref(exact), std::ref(single)}) {
    const Formula begin = look_up_rows(std::move(begins), 1, Kind::kReal, low);
    counted.push_back(low - as_integer(less(fraction, begin)));
  }
  return counted;
}

std::optional<Generated> on_side(const View& column, int64_t side) {
  const Formula last(side - 1);
  for (const auto& [name, place] : scaled_places(column.length(), side)) {
    const Formula low = smaller(whole_part(place), last), rest = place - as_real(low);
    const std::pair<const char*, Formula> integers[] = {{"the lower", low},
                                                        {"the upper", smaller(low + Formula(1), last)}};
    const std::pair<const char*, Formula> reals[] = {{"the weight of the upper", rest},
                                                     {"the weight of the lower", real_number(1) - rest}};
    for (const auto& [what, formula] : column.kind == Kind::kInteger ? integers : reals)
      if (auto fit = checked(column, formula, fmt::format("{} of {} positions in float32, {}", what, side, name)))
        return fit;
  }
  // As many as a side of an image has patches: where each begins is a table in the model.
  constexpr int64_t kMostBuckets = 1 << 12;
  if (column.kind == Kind::kInteger && side <= kMostBuckets)
    for (const Formula& formula : buckets(column.length(), side))
      if (auto fit =
              checked(column, formula, fmt::format("which of {} buckets index / length is in, in float32", side)))
        return fit;
  return std::nullopt;
}

// Lengths that indices may be of: above all of them, and not so long that the last would be another.
std::pair<int64_t, int64_t> possible_totals(const View& column) {
  constexpr int64_t kMostTried = 64;
  int64_t least = 2, most = int64_t{1} << 20;
  for (size_t k = 0; k < column.traces(); ++k) {
    const int64_t last = std::llround(column.entries[k].back()), n = column.length().at[k];
    least = std::max(least, last + 1);
    if (n > 1) most = std::min(most, (last + 2) * n / (n - 1) + 1);
  }
  return {least, std::min(most, least + kMostTried)};
}

}  // namespace

std::optional<Generated> fit_single_places(const Given& given) {
  const View& column = given.view;
  TableContext& context = given.context;
  for (const auto& list : column.entries)
    for (const double entry : list)
      if (!(entry >= 0) || (column.kind == Kind::kReal && entry > 1)) return std::nullopt;
  // What the node reads from says how long it is; the weights are told by the indices before them.
  for (const Variable& axis : context.around.axes) {
    if (!axis.symbol.is_constant() || axis.at.front() < 2) continue;
    if (auto fit = on_side(column, axis.at.front())) {
      context.sides.push_back(axis.at.front());
      return fit;
    }
  }
  std::vector<int64_t> sides = context.sides;
  if (column.kind == Kind::kInteger) {
    const auto [least, most] = possible_totals(column);
    for (int64_t side = least; side <= most; ++side) sides.push_back(side);
  }
  // Of several lengths that give all entries, nothing tells which it is.
  std::optional<Generated> only;
  int64_t its_side = 0;
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  for (const int64_t side : sides) {
    if (side < 2) continue;
    auto fit = on_side(column, side);
    if (fit && only) return std::nullopt;
    if (!fit) continue;
    only = std::move(fit);
    its_side = side;
  }
  if (only) context.sides.push_back(its_side);
  return only;
}

}  // namespace thaw::lifting
