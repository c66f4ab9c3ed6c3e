// Logarithms of distances with their sign, as attention whose biases an MLP makes of coordinates reads them (Swin v2).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr double kWidest = 8;  // what the farthest distance is made, where all are normalised

// How a distance is made what the logarithm is taken of.
struct LogScaling {
  double each = 1;           // times this
  bool by_farthest = false;  // over the farthest one
  double of(double distance, double farthest) const {
    return by_farthest ? each * distance / farthest : each * distance;
  }
};

// The number that these logarithms are multiplied by: the same in every trace.
std::optional<double> factor_of(const View& view, double zero, const LogScaling& scaling) {
  constexpr double kAlike = 1e-5;
  std::optional<double> factor;
  for (const auto& list : view.entries) {
    const size_t half = list.size() / 2;
    const auto middle = static_cast<double>(half);
    const double each = (list.back() - zero) / std::log1p(scaling.of(middle, middle));
    if (!std::isfinite(each) || each == 0) return std::nullopt;
    if (factor && std::abs(each - *factor) > kAlike * std::abs(*factor)) return std::nullopt;
    if (!factor) factor = each;
  }
  return factor;
}

// The number c of log(1 + c d) that the longest list speaks for. log(1 + c n) is n times log(1 + c) where c is small, and no more than
// that where it is large.
std::optional<double> number_of_distances(const std::vector<double>& list, double zero) {
  constexpr double kLeast = 1e-3, kMost = 1e3, kAlike = 1e-4;
  const size_t middle = list.size() / 2;
  const auto n = static_cast<double>(middle);
  const double ratio = (list.back() - zero) / (list[middle + 1] - zero);
  double low = kLeast, high = kMost;
  const auto ratio_at = [&](double c) { return std::log1p(c * n) / std::log1p(c); };
  if (!(ratio < ratio_at(low) && ratio > ratio_at(high))) return std::nullopt;
  for (int step = 0; step < 100; ++step) {
    const double c = std::sqrt(low * high);
    (ratio_at(c) > ratio ? low : high) = c;
  }
  // 8 over the farthest distance of the window that it was learned for.
  const double whole = std::round(kWidest / low);
  return whole >= 1 && std::abs(kWidest / low - whole) <= kAlike * whole ? kWidest / whole : low;
}

}  // namespace

std::optional<Generated> fit_log_distance(const Given& column) {
  const View& view = column.view;
  constexpr size_t kLeastLength = 5;
  const std::vector<double>* longest = nullptr;
  for (const auto& list : view.entries) {
    if (list.size() < 3 || list.size() % 2 == 0) return std::nullopt;
    if (!longest || list.size() > longest->size()) longest = &list;
  }
  if (longest->size() < kLeastLength) return std::nullopt;
  const double zero = (*longest)[longest->size() / 2];
  if (std::ranges::any_of(view.entries, [&](const auto& list) { return !view.close(list[list.size() / 2], zero); }))
    return std::nullopt;
  const size_t traces = view.traces();
  const Size middle = (view.length() - constant_size(1, traces)) / constant_size(2, traces);
  const Formula distance = absolute(position(0) - Formula(middle)), before = less(position(0), Formula(middle));
  std::vector<LogScaling> scalings{{1, false}, {kWidest, true}};
  if (const auto number = number_of_distances(*longest, zero)) scalings.push_back({*number, false});
  for (const LogScaling& scaling : scalings) {
    const auto factor = factor_of(view, zero, scaling);
    if (!factor) continue;
    Formula far = as_real(distance);
    if (scaling.by_farthest) {
      far = far * (real_number(scaling.each) / as_real(Formula(middle)));
    } else if (scaling.each != 1) {
      far = far * real_number(scaling.each);
    }
    const Formula size = logarithm(real_number(1) + far) * real_number(*factor);
    Formula formula = choose(before, real_number(0) - size, size);
    if (zero != 0) formula = formula + real_number(zero);
    const std::string made = scaling.by_farthest ? fmt::format(" of which the farthest is {:g}", scaling.each)
                             : scaling.each != 1 ? fmt::format(", each times {:.6g}", scaling.each)
                                                 : "";
    std::string text = fmt::format("log(1 + distance from the middle{}), with its sign, times {:.6g}{}", made, *factor,
                                   zero == 0 ? "" : fmt::format(", plus {:.6g}", zero));
    if (auto fit = checked(view, formula, std::move(text))) return fit;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
