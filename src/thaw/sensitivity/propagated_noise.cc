#include "thaw/sensitivity/propagated_noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thaw::measuring {
namespace {

constexpr size_t kImage = 4;  // axes

}  // namespace

std::optional<PropagatedNoise> propagated_noise(const Array& wanted, const Array& got) {
  if (wanted.dims != got.dims) return std::nullopt;
  if (!ir::is_floating(wanted.dtype)) return PropagatedNoise{};
  const std::vector<double> x = to_doubles(wanted), y = to_doubles(got);
  const std::vector<int64_t>& dims = wanted.dims;
  // Elements as [outer, members, inner]: means are taken over the members.
  size_t members = 1, inner = 1;
  if (dims.size() == kImage) {
    members = static_cast<size_t>(dims[2] * dims[3]);
  } else if (dims.size() >= 2) {
    members = static_cast<size_t>(dims[dims.size() - 2]);
    inner = static_cast<size_t>(dims.back());
  }
  double signal = 0, noise = 0, common = 0;
  std::vector<double> sums(inner);
  for (size_t first = 0; first < x.size(); first += members * inner) {
    std::ranges::fill(sums, 0);
    for (size_t i = 0; i < members * inner; ++i) {
      const double before = x[first + i], difference = y[first + i] - before;
      if (!std::isfinite(before)) continue;
      if (!std::isfinite(difference)) return std::nullopt;
      signal += before * before;
      noise += difference * difference;
      sums[i % inner] += difference;
    }
    for (const double sum : sums) common += sum * sum / static_cast<double>(members);
  }
  if (noise == 0) return PropagatedNoise{};
  const double scale = signal > 0 ? 1 / signal : 1;
  return PropagatedNoise{std::min(common, noise) * scale, std::max(0.0, noise - common) * scale};
}

}  // namespace thaw::measuring
