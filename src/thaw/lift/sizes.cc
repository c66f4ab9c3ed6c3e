#include "thaw/lift/sizes.h"

namespace thaw::lift {

std::optional<Size> solve_size(std::vector<int64_t> at, const Solver& solver) {
  if (const auto dim = solver.solve(at)) return Size{*dim, std::move(at)};
  const auto variables = solver.variables();
  for (size_t i = 0; i < variables.size(); ++i) {
    for (size_t j = i + 1; j < variables.size(); ++j) {
      bool sum = true;
      for (size_t k = 0; k < at.size(); ++k) sum &= variables[i].at[k] + variables[j].at[k] == at[k];
      if (sum) return Size{variables[i].symbol + variables[j].symbol, std::move(at)};
    }
  }
  // A grid and a few tokens before it.
  constexpr int64_t kMostFirst = 8;
  for (int64_t first = 1; first <= kMostFirst; ++first) {
    std::vector<int64_t> rest = at;
    for (int64_t& size : rest) size -= first;
    const auto dim = solver.solve(rest);
    if (dim && !dim->is_constant()) return Size{*dim + dim::Dim(first), std::move(at)};
  }
  return std::nullopt;
}

}  // namespace thaw::lift
