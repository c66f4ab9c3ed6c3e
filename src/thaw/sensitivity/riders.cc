#include "thaw/sensitivity/riders.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/sensitivity/attempt.h"

namespace thaw::measuring {
namespace {

constexpr size_t kMostRiders = 8;  // each has a session of its own

std::vector<size_t> numbers_to(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

}  // namespace

Riders::Riders(Baseline& baseline, const Wanted& wanted, Done done)
    : Riders(baseline, wanted, numbers_to(wanted.size()), std::move(done)) {}

Riders::Riders(Baseline& baseline, const Wanted& wanted, std::vector<size_t> samples, Done done)
    : baseline_(baseline),
      wanted_(wanted),
      samples_(std::move(samples)),
      order_(numbers_to(samples_.size())),
      done_(std::move(done)) {
  const KeptArrays& kept = baseline_.cut().kept();
  std::ranges::stable_sort(order_, std::greater(), [&](size_t place) { return kept.bytes(samples_[place]); });
}

void Riders::add(UnitError& error, std::unique_ptr<Candidate> candidate) {
  const bool fits = !riders_.empty() && riders_.size() < kMostRiders &&
                    riders_.front().candidate->tail() == candidate->tail() &&
                    riders_.front().candidate->outputs() == candidate->outputs();
  if (!fits) finish();
  riders_.push_back({.error = &error, .candidate = std::move(candidate)});
}

void Riders::finish() {
  std::vector<char> opens(riders_.size());
  baseline_.lanes().each(riders_.size(), [&](size_t k) {
    riders_[k].outcomes.resize(samples_.size());
    opens[k] = attempt(*riders_[k].error, [&] { riders_[k].candidate->open(); });
  });
  for (size_t k = riders_.size(); k-- > 0;) {
    if (opens[k]) continue;
    done_(*riders_[k].error, {});
    riders_.erase(riders_.begin() + static_cast<ptrdiff_t>(k));
  }
  baseline_.lanes().each(samples_.size(), [&](size_t i) { run(order_[i]); });
  for (Rider& rider : riders_) {
    std::vector<ErrorFigures> figures;
    for (const Outcome& outcome : rider.outcomes)
      if (outcome.figures) figures.push_back(*outcome.figures);
    const auto failed = std::ranges::find_if(rider.outcomes, [](const Outcome& one) { return !one.figures; });
    if (failed != rider.outcomes.end()) {
      rider.error->status = UnitStatus::kFailed;
      rider.error->why = failed->why;
      figures.clear();
    }
    done_(*rider.error, std::move(figures));
  }
  riders_.clear();
}

void Riders::run(size_t place) {
  const size_t sample = samples_[place];
  std::vector<Rider*> here;
  std::vector<Arrays> made;
  for (Rider& rider : riders_) {
    try {
      made.push_back(rider.candidate->run(sample));
      here.push_back(&rider);
    } catch (const Error& failed) {
      if (CallClock::is_over()) throw;
      rider.outcomes[place].why = failed.what();
    }
  }
  if (here.size() < 2 || made.front().empty()) {
    for (size_t k = 0; k < here.size(); ++k) run_alone(*here[k], place, std::move(made[k]));
    return;
  }
  std::vector<std::optional<ErrorFigures>> figures;
  try {
    figures = baseline_.figures_behind(here.front()->candidate->tail(), sample, made, wanted_[sample]);
  } catch (const Error&) {
    figures.assign(here.size(), std::nullopt);  // one of them is to blame: alone each says what is wrong
  }
  for (size_t k = 0; k < here.size(); ++k) {
    if (figures[k]) {
      here[k]->outcomes[place].figures = figures[k];
    } else {
      run_alone(*here[k], place, std::move(made[k]));
    }
  }
}

void Riders::run_alone(Rider& rider, size_t place, Arrays made) {
  const size_t sample = samples_[place];
  try {
    rider.outcomes[place].figures =
        baseline_.figures_behind(*rider.candidate, sample, std::move(made), wanted_[sample]);
  } catch (const Error& failed) {
    if (CallClock::is_over()) throw;
    rider.outcomes[place].why = failed.what();
  }
}

}  // namespace thaw::measuring
