// Log-odds of places between 0 and 1, in float32: how detectors keep their anchors, and what they add to the boxes of cells.
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

// What is added on both sides, so that 0 and 1 have log-odds too; 0: nothing is.
constexpr double kMargins[] = {0, 1e-6, 1e-5, 1e-4, 1e-3};

// The place that has these log-odds: (p + margin) / (1 - p + margin) is e^odds.
double place_of_odds(double odds, double margin) {
  const double less = std::exp(-odds);  // finite where the place is near 1
  return ((1 + margin) - margin * less) / (1 + less);
}

// Step by step as it is computed. With a margin: log(p + margin) - log1p(margin - p), which nodes have as log(1 + x).
Formula log_odds(const Formula& where, double margin) {
  const Formula place = in_single(where), one = real_number(1), more = in_single(real_number(margin));
  if (margin == 0) return logarithm(in_single(place / in_single(one - place)));
  const Formula rest = in_single(one + in_single(more - place));
  return in_single(logarithm(in_single(place + more))) - in_single(logarithm(rest));
}

}  // namespace

std::optional<Generated> fit_share(const Given& column) {
  const View& view = column.view;
  constexpr double kNear = 1e-4, kMostParts = 4096;  // float32 tells so many apart
  std::vector<int64_t> parts;
  for (const auto& list : view.entries) {
    const double count = list.empty() ? 0 : 1 / list.front();
    if (!(count >= 1 && count <= kMostParts) || std::abs(count - std::round(count)) > kNear * count)
      return std::nullopt;
    parts.push_back(std::llround(count));
  }
  const auto size = solve_size(parts, column.context.solver);
  if (!size || size->dim.is_constant()) return std::nullopt;
  return checked(view, real_number(1) / as_real(*size), fmt::format("1 / ({})", dim::to_string(size->dim)));
}

std::optional<Generated> fit_logit(const Given& column) {
  const View& view = column.view;
  for (const double margin : kMargins) {
    View places = view;
    for (auto& list : places.entries)
      for (double& entry : list) entry = place_of_odds(entry, margin);
    const Given given(places, column.context);
    auto fit = fit_linspace(given);
    if (!fit) fit = fit_share(given);
    if (!fit) continue;
    const std::string shifted = margin == 0 ? "" : fmt::format(", each {:g} more", margin);
    if (auto odds = checked(view, log_odds(fit->formula(), margin), "logit of " + fit->description + shifted))
      return odds;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
