// Learned numbers of each distance between two positions: the biases of relative attention, folded before the export.
//
// What the traces agree on is kept, up to the largest distance that one of them has, or the end of the bucket that it lies
// in. Where the numbers no longer change from some distance on, as those of the last bucket or of clipped distances, they
// never do; else a distance beyond is an error of the lifted model.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/kept/bucket_edges.h"

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

// What is known of the numbers on one side of 0.
struct Known {
  std::optional<int64_t> settled;  // from this distance on they are all alike
  int64_t known = 0;               // else the largest distance that is known
};

Known known_of(const std::vector<double>& numbers, int64_t middle, int64_t step) {
  const int64_t reach = step > 0 ? static_cast<int64_t>(numbers.size()) - 1 - middle : middle;
  if (const auto from = last_change(numbers, middle, step)) return {from, reach};
  std::vector<int64_t> starts{0};
  const auto at = [&](int64_t far) { return numbers[static_cast<size_t>(middle + far * step)]; };
  for (int64_t far = 1; far <= reach; ++far)
    if (at(far) != at(far - 1)) starts.push_back(far);
  const auto end = end_of_last_bucket(starts, reach);
  if (end == kNoEnd) return {starts.back(), reach};
  return {std::nullopt, std::min(end.value_or(reach), kMostDistances)};
}

}  // namespace

std::optional<Generated> fit_distance_table(const View& distances, const View& table) {
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
  const Known low = known_of(numbers, before, -1), high = known_of(numbers, before, 1);
  numbers.insert(numbers.begin(), static_cast<size_t>(low.known - before), numbers.front());
  before = low.known;
  numbers.insert(numbers.end(), static_cast<size_t>(high.known - after), numbers.back());
  const auto count = static_cast<int64_t>(numbers.size());
  Formula index = position(0) - position(1) + Formula(before);
  if (low.settled) index = larger(index, Formula(before - *low.settled));
  if (high.settled) index = smaller(index, Formula(before + *high.settled));
  // Counted from before the first entry, an index would be read from the end.
  if (!low.settled) index = choose(less(index, Formula(0)), Formula(count), index);
  std::vector<Limit> limits;
  if (!low.settled) limits.push_back({table.growing[1].dim, low.known + 1});
  if (!high.settled) limits.push_back({table.growing[0].dim, high.known + 1});
  const Formula formula = look_up_rows(std::move(numbers), 1, distances.kind, index, std::move(limits));
  if (!holds(table, formula, 0, 1)) return std::nullopt;
  if (low.settled && high.settled)
    return Generated{"kept entries of each distance, the same from some distance on", formula};
  const int64_t known = low.settled ? high.known : high.settled ? low.known : std::min(low.known, high.known);
  return Generated{fmt::format("kept entries of each distance, known up to {}", known), formula};
}

}  // namespace thaw::lifting
