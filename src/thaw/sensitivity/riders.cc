#include "thaw/sensitivity/riders.h"

#include <numeric>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/sensitivity/attempt.h"

namespace thaw::measuring {
namespace {

constexpr size_t kMost = 8;  // each has a session of its own

}  // namespace

Riders::Riders(Baseline& baseline, const Wanted& wanted, Done done)
    : Riders(baseline, wanted, std::vector<size_t>(wanted.size()), std::move(done)) {
  std::iota(samples_.begin(), samples_.end(), size_t{0});
}

void Riders::add(UnitError& error, std::unique_ptr<Candidate> candidate) {
  const bool fits = !riders_.empty() && riders_.size() < kMost &&
                    riders_.front().candidate->tail() == candidate->tail() &&
                    riders_.front().candidate->outputs() == candidate->outputs();
  if (!fits) finish();
  riders_.push_back({.error = &error, .candidate = std::move(candidate)});
}

void Riders::finish() {
  for (const size_t i : samples_) run(i);
  for (Rider& rider : riders_)
    done_(*rider.error, rider.is_well ? std::move(rider.figures) : std::vector<ErrorFigures>());
  riders_.clear();
}

void Riders::run(size_t sample) {
  std::vector<Rider*> here;
  std::vector<Arrays> made;
  for (Rider& rider : riders_) {
    if (!rider.is_well) continue;
    rider.is_well = attempt(*rider.error, [&] {
      made.push_back(rider.candidate->is_changed() ? rider.candidate->run(sample) : Arrays{});
      here.push_back(&rider);
    });
  }
  if (here.size() < 2 || made.front().empty()) {
    for (size_t k = 0; k < here.size(); ++k) run_alone(*here[k], sample, std::move(made[k]));
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
      here[k]->figures.push_back(*figures[k]);
    } else {
      run_alone(*here[k], sample, std::move(made[k]));
    }
  }
}

void Riders::run_alone(Rider& rider, size_t sample, Arrays made) {
  rider.is_well = attempt(*rider.error, [&] {
    rider.figures.push_back(baseline_.figures_behind(*rider.candidate, sample, std::move(made), wanted_[sample]));
  });
}

}  // namespace thaw::measuring
