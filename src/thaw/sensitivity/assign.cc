#include "thaw/sensitivity/assign.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "thaw/core/saturated.h"

namespace thaw::measuring {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Assignment::Assignment(std::vector<std::vector<Choice>> units) : units_(std::move(units)) {
  for (const std::vector<Choice>& choices : units_) {
    int64_t most = 0;
    for (const Choice& choice : choices) most = std::max(most, choice.saved);
    most_ = saturated_sum(most_, most);
  }
  step_ = std::max<int64_t>(1, most_ / static_cast<int64_t>(kGrid));
  const size_t steps = steps_of(most_);
  least_.assign(steps + 1, kNever);
  least_[0] = 0;
  for (const std::vector<Choice>& choices : units_) {
    std::vector<double> now = least_;
    std::vector<uint8_t>& taken = taken_.emplace_back(steps + 1, 0);
    for (size_t k = 0; k < choices.size(); ++k) {
      if (choices[k].saved <= 0) continue;
      const size_t gained = steps_of(choices[k].saved);
      for (size_t step = 0; step <= steps; ++step) {
        const double error = least_[step - std::min(step, gained)] + choices[k].error;
        if (error >= now[step]) continue;
        now[step] = error;
        taken[step] = static_cast<uint8_t>(k + 1);
      }
    }
    least_ = std::move(now);
  }
}

Assigned Assignment::at(size_t step) const {
  Assigned assigned;
  assigned.choices.resize(units_.size());
  for (size_t unit = units_.size(); unit-- > 0;) {
    const uint8_t taken = taken_[unit][step];
    if (taken == 0) continue;
    const Choice& choice = units_[unit][taken - 1];
    assigned.choices[unit] = taken - 1;
    assigned.saved = saturated_sum(assigned.saved, choice.saved);
    assigned.error += choice.error;
    step -= std::min(step, steps_of(choice.saved));
  }
  return assigned;
}

std::optional<Assigned> Assignment::saving(int64_t bytes) const {
  if (bytes <= 0) return at(0);
  if (bytes > most_) return std::nullopt;
  // Rounding down may have taken a step from each unit: what saves just enough, as one precision for all does where the limit is
  // its size, stands up to so many steps before the bytes. What stands first has the least error.
  const auto step = static_cast<size_t>((bytes - 1) / step_ + 1);
  const size_t last = std::min(step, least_.size() - 1);
  for (size_t i = step - std::min(step, units_.size()); i <= last && least_[i] < kNever; ++i) {
    Assigned assigned = at(i);
    if (assigned.saved >= bytes) return assigned;
  }
  // The last steps may be there though rounding down lost them: all that saves most is tried.
  Assigned all;
  for (const std::vector<Choice>& choices : units_) {
    std::optional<size_t>& best = all.choices.emplace_back();
    for (size_t k = 0; k < choices.size(); ++k)
      if (choices[k].saved > (best ? choices[*best].saved : 0)) best = k;
    if (!best) continue;
    all.saved = saturated_sum(all.saved, choices[*best].saved);
    all.error += choices[*best].error;
  }
  return all;
}

Assigned Assignment::within(double error) const {
  size_t best = 0;
  for (size_t step = 0; step < least_.size(); ++step)
    if (least_[step] <= error) best = step;
  return at(best);
}

std::vector<Assigned> Assignment::frontier(size_t points) const {
  std::vector<Assigned> found;
  for (size_t i = 0; i < points; ++i) {
    const size_t step = i * (least_.size() - 1) / std::max<size_t>(1, points - 1);
    if (least_[step] == kNever) continue;
    Assigned assigned = at(step);
    if (found.empty() || assigned.saved != found.back().saved) found.push_back(std::move(assigned));
  }
  return found;
}

}  // namespace thaw::measuring
