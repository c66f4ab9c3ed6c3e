// Learned numbers of each distance between two positions: the biases of relative attention, folded before the export.
//
// What the traces agree on is kept, up to the largest distance that one of them has. Where the numbers no longer change
// from some distance on, as those of the last bucket or of clipped distances, they never do; else a distance beyond is an
// error of the lifted model.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostDistances = int64_t{1} << 16;

// How far from the middle the numbers still change, counted towards one end: nullopt where they may go on changing. A
// bucket of a logarithmic scale is less than twice as long as all before it.
std::optional<int64_t> last_change(const std::vector<double>& numbers, int64_t middle, int64_t step) {
  const auto count = static_cast<int64_t>(numbers.size());
  const int64_t end = step > 0 ? count - 1 : 0, reach = (end - middle) * step;
  int64_t at = end;
  while (at != middle && numbers[static_cast<size_t>(at - step)] == numbers[static_cast<size_t>(end)]) at -= step;
  const int64_t from = (at - middle) * step;
  constexpr int64_t kFewest = 4;
  if (reach - from < std::max(kFewest, 2 * from)) return std::nullopt;
  return from;
}

}  // namespace

std::optional<Sequence> fit_distance_table(const View& distances, const View& table) {
  int64_t before = 0, after = 0;  // distances on both sides of 0
  for (size_t k = 0; k < table.traces(); ++k) {
    before = std::max(before, table.growing[1].at[k] - 1);
    after = std::max(after, table.growing[0].at[k] - 1);
  }
  if (table.traces() < 2 || before + after + 1 > kMostDistances) return std::nullopt;
  std::vector<double> numbers(static_cast<size_t>(before + after + 1), std::numeric_limits<double>::quiet_NaN());
  int64_t again = 0;
  for (size_t k = 0; k < table.traces(); ++k) {
    const int64_t first = before - (table.growing[1].at[k] - 1);
    for (size_t i = 0; i < distances.entries[k].size(); ++i) {
      double& known = numbers[static_cast<size_t>(first) + i];
      const double entry = distances.entries[k][i];
      if (known != known) {
        known = entry;
      } else if (distances.close(known, entry)) {
        ++again;
      } else {
        return std::nullopt;
      }
    }
  }
  if (again < 2) return std::nullopt;
  const auto count = static_cast<int64_t>(numbers.size());
  const auto low = last_change(numbers, before, -1), high = last_change(numbers, before, 1);
  Formula index = position(0) - position(1) + Formula(before);
  if (low) index = larger(index, Formula(before - *low));
  if (high) index = smaller(index, Formula(before + *high));
  // Counted from before the first entry, an index would be read from the end.
  if (!low) index = choose(less(index, Formula(0)), Formula(count), index);
  const Formula formula = look_up_rows(std::move(numbers), 1, distances.kind, index);
  if (!holds(table, formula, 0, 1)) return std::nullopt;
  return Sequence{low && high ? std::string("kept entries of each distance, the same from some distance on")
                              : fmt::format("kept entries of each distance, known up to {}", std::max(before, after)),
                  formula};
}

}  // namespace thaw::lifting
