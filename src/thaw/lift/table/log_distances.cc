// Logarithms of distances with their sign, as attention whose biases an MLP makes of coordinates reads them (Swin v2).
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr double kWidest = 8;  // what the farthest distance is made, where all are normalised

// The number that these logarithms are multiplied by: the same in every trace. farthest: what the last distance is made;
// 0: all stay what they are.
std::optional<double> factor_of(const View& view, double farthest) {
  constexpr double kAlike = 1e-5;
  std::optional<double> factor;
  for (const auto& list : view.entries) {
    const size_t half = list.size() / 2;
    const auto middle = static_cast<double>(half);
    const double each = list.back() / std::log1p(farthest == 0 ? middle : farthest);
    if (!std::isfinite(each) || each == 0) return std::nullopt;
    if (factor && std::abs(each - *factor) > kAlike * std::abs(*factor)) return std::nullopt;
    if (!factor) factor = each;
  }
  return factor;
}

}  // namespace

std::optional<Sequence> fit_log_distance(const View& view) {
  constexpr size_t kLeastLength = 5;
  if (view.kind != Kind::kReal || view.traces() < 2) return std::nullopt;
  size_t longest = 0;
  for (const auto& list : view.entries) {
    if (list.size() < 3 || list.size() % 2 == 0 || list[list.size() / 2] != 0) return std::nullopt;
    longest = std::max(longest, list.size());
  }
  if (longest < kLeastLength) return std::nullopt;
  const size_t traces = view.traces();
  const Size middle = (view.length() - constant_size(1, traces)) / constant_size(2, traces);
  const Formula distance = absolute(position(0) - Formula(middle)), before = less(position(0), Formula(middle));
  for (const double farthest : {0.0, kWidest}) {
    const auto factor = factor_of(view, farthest);
    if (!factor) continue;
    const Formula far =
        farthest == 0 ? as_real(distance) : as_real(distance) * (real_number(farthest) / as_real(Formula(middle)));
    const Formula size = logarithm(real_number(1) + far) * real_number(*factor);
    const std::string made = farthest == 0 ? "" : fmt::format(" of which the farthest is {:g}", farthest);
    std::string text = fmt::format("log(1 + distance from the middle{}), with its sign, times {:.6g}", made, *factor);
    if (auto fit = checked(view, choose(before, real_number(0) - size, size), std::move(text))) return fit;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
