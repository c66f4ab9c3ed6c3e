#include "thaw/lift/solve/tensor_lines.h"

#include <algorithm>
#include <optional>
#include <set>

namespace thaw::lifting {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

// Whether lines through them can be reckoned in 64 bits.
bool are_in_reach(std::span<const int64_t> values) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::ranges::all_of(values, [](int64_t v) { return -kMost <= v && v <= kMost; });
}

// times * size + more, in every trace.
struct Line {
  int64_t times = 0, more = 0;
};

std::optional<Line> line_over(const Values& size, std::span<const int64_t> wanted) {
  constexpr size_t kFewestSizes = 3;
  if (std::set<int64_t>(size.begin(), size.end()).size() < kFewestSizes) return std::nullopt;
  size_t other = 1;
  while (size[other] == size[0]) ++other;
  const int64_t rise = wanted[other] - wanted[0], run = size[other] - size[0];
  if (rise % run != 0 || rise / run <= 0) return std::nullopt;
  const Line line{rise / run, wanted[0] - rise / run * size[0]};
  // A multiple of what is a few more or less: fewer lines are met by chance.
  if (line.more % line.times != 0) return std::nullopt;
  for (size_t k = 0; k < wanted.size(); ++k)
    if (line.times * size[k] + line.more != wanted[k]) return std::nullopt;
  return line;
}

}  // namespace

void solve_tensor_lines(const TensorSizes& tensors, std::span<const int64_t> wanted,
                        const std::function<bool(Dim)>& take) {
  if (!are_in_reach(wanted)) return;
  for (const bool exact : {true, false}) {
    for (const auto& [at, size] : tensors) {
      const auto line = are_in_reach(at) ? line_over(at, wanted) : std::nullopt;
      if (line && (line->more == 0) == exact && take(size * Dim(line->times) + Dim(line->more))) return;
    }
  }
  Values half(wanted.size());
  for (const auto& [at, size] : tensors) {
    bool even = are_in_reach(at) && std::ranges::any_of(at, [&](int64_t v) { return v != at.front(); });
    for (size_t k = 0; k < wanted.size() && even; ++k) {
      half[k] = (wanted[k] - at[k]) / 2;
      even = half[k] > 0 && 2 * half[k] + at[k] == wanted[k];
    }
    if (!even) continue;
    const auto other = tensors.find(half);
    const bool grows = std::ranges::any_of(half, [&](int64_t v) { return v != half.front(); });
    if (other != tensors.end() && grows && take(size + other->second * Dim(2))) return;
  }
}

}  // namespace thaw::lifting
