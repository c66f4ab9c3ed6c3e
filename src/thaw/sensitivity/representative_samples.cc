#include "thaw/sensitivity/representative_samples.h"

#include <algorithm>
#include <numeric>

#include "thaw/sensitivity/confirm_worst.h"

namespace thaw::measuring {
namespace {

constexpr double kShare = 0.8;
constexpr size_t kLeast = 4, kMostOf = 3;

}  // namespace

std::vector<size_t> representative_samples(const std::vector<ErrorFigures>& all, ErrorMetric metric) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return rank_of(all[a], metric) > rank_of(all[b], metric); });
  double wanted = 0, sum = 0;
  for (const ErrorFigures& figures : all) wanted += kShare * rank_of(figures, metric);
  const size_t most = std::min(all.size(), std::max(kLeast, all.size() / kMostOf));
  size_t count = 0;
  while (count < most && (count < kLeast || sum < wanted)) sum += rank_of(all[order[count++]], metric);
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

ErrorFigures mean_by_ratio(const std::vector<ErrorFigures>& some, const std::vector<size_t>& which,
                           const std::vector<ErrorFigures>& all) {
  const auto scaled = [&](double ErrorFigures::* figure) {
    double here = 0, there = 0, everywhere = 0;
    for (size_t k = 0; k < which.size(); ++k) {
      here += some[k].*figure;
      there += all[which[k]].*figure;
    }
    for (const ErrorFigures& one : all) everywhere += one.*figure;
    return there > 0 ? here / there * everywhere / static_cast<double>(all.size())
                     : here / static_cast<double>(which.size());
  };
  return {scaled(&ErrorFigures::mse), scaled(&ErrorFigures::cosine), scaled(&ErrorFigures::kl),
          scaled(&ErrorFigures::noise)};
}

}  // namespace thaw::measuring
