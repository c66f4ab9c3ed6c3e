// Lists that come again every few entries, but for what both ends lack: what windows weigh together that overlap, which the
// frames of a spectrum are divided by once they are put together to a signal again (Griffin and Lim 1984, "Signal Estimation
// from Modified Short-Time Fourier Transform", equation 6). Both ends lack the windows that would begin before the first frame
// and behind the last.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLongestStep = 4096;
constexpr double kUnequalSums = 4e-7;  // relative to the largest entry: the order of a sum

// After how many entries the middle of a list comes again, and how many do not before and behind it.
struct Middle {
  int64_t step, before, behind;
};

std::optional<Middle> middle_of(const std::vector<double>& list, double tolerance) {
  const int64_t length = std::ssize(list);
  const auto comes_again = [&](int64_t at, int64_t step) {
    return std::abs(list[static_cast<size_t>(at)] - list[static_cast<size_t>(at + step)]) <= tolerance;
  };
  for (int64_t step = 1; step <= std::min(kLongestStep, length / 8); ++step) {
    int64_t first = length / 2, last = length / 2;
    while (first > 0 && comes_again(first - 1, step)) --first;
    while (last + step < length && comes_again(last, step)) ++last;
    // As long as both ends together, at least, and four times over.
    const int64_t end = last + step;
    if (end - first >= std::max(4 * step, length / 2)) return Middle{step, first, length - end};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_ends(const Given& table) {
  const View& view = table.view;
  constexpr int64_t kLeast = 16;  // entries of the largest: fewer are alike by chance
  const std::vector<int64_t>& lengths = view.length().at;
  const auto largest = static_cast<size_t>(std::ranges::max_element(lengths) - lengths.begin());
  const std::vector<double>& list = view.entries[largest];
  double scale = 0;
  for (const double entry : list) scale = std::max(scale, std::abs(entry));
  if (lengths[largest] < kLeast || !std::isfinite(scale)) return std::nullopt;
  const auto middle = middle_of(list, kUnequalSums * scale);
  if (!middle || middle->before == 0 || middle->behind == 0) return std::nullopt;
  // Where the middle begins again depends on where the list ends.
  const auto as_far = [&](int64_t n) { return (lengths[largest] - n) % middle->step == 0; };
  if (!std::ranges::all_of(lengths, as_far)) return std::nullopt;
  std::vector<double> again(static_cast<size_t>(middle->step));
  for (int64_t i = 0; i < middle->step; ++i)
    again[static_cast<size_t>((middle->before + i) % middle->step)] = list[static_cast<size_t>(middle->before + i)];
  const auto lacking = [&](int64_t at) {
    return list[static_cast<size_t>(at)] - again[static_cast<size_t>(at % middle->step)];
  };
  std::vector<double> before, behind;  // and nothing from there on
  for (int64_t i = 0; i < middle->before; ++i) before.push_back(lacking(i));
  for (int64_t i = 0; i < middle->behind; ++i) behind.push_back(lacking(lengths[largest] - 1 - i));
  before.push_back(0);
  behind.push_back(0);
  const size_t traces = view.traces();
  const Formula i = position(0), from_last = Formula(view.length() - constant_size(1, traces)) - i;
  Formula sum = look_up_rows(again, 1, Kind::kReal, i % Formula(middle->step)) +
                look_up_rows(before, 1, Kind::kReal, smaller(i, Formula(middle->before))) +
                look_up_rows(behind, 1, Kind::kReal, smaller(from_last, Formula(middle->behind)));
  // A list of which both ends lack the same entries: no trace tells what these are, and Gather ends with an error.
  const int64_t ends = middle->before + middle->behind;
  if (std::ranges::min(lengths) >= ends) {
    const Formula too_short = larger(Formula(ends) - Formula(view.length()), Formula(0));
    sum = sum + look_up_rows({0}, 1, Kind::kReal, too_short + i * Formula(0), {{ends, view.length().dim}});
  }
  if (!holds(view, sum, 0, 1)) return std::nullopt;
  return Generated{fmt::format("{}, but for the first {} and the last {}",
                               middle->step == 1 ? "the same" : fmt::format("{} numbers again and again", middle->step),
                               middle->before, middle->behind),
                   sum};
}

}  // namespace thaw::lifting
