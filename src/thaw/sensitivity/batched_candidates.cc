#include "thaw/sensitivity/batched_candidates.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/sensitivity/attempt.h"

namespace thaw::measuring {
namespace {

constexpr size_t kMostBatched = 8;  // each has a session of its own

std::vector<size_t> numbers_to(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

}  // namespace

BatchedCandidates::BatchedCandidates(Baseline& baseline, const Wanted& wanted, Done done)
    : BatchedCandidates(baseline, wanted, numbers_to(wanted.size()), std::move(done)) {}

BatchedCandidates::BatchedCandidates(Baseline& baseline, const Wanted& wanted, std::vector<size_t> samples, Done done)
    : baseline_(baseline),
      wanted_(wanted),
      samples_(std::move(samples)),
      order_(numbers_to(samples_.size())),
      done_(std::move(done)) {
  const CachedArrays& kept = baseline_.cut().kept();
  std::ranges::stable_sort(order_, std::greater(), [&](size_t position) { return kept.bytes(samples_[position]); });
}

void BatchedCandidates::add(UnitError& error, std::unique_ptr<Candidate> candidate) {
  const bool fits = !batched_.empty() && batched_.size() < kMostBatched &&
                    batched_.front().candidate->tail() == candidate->tail() &&
                    batched_.front().candidate->outputs() == candidate->outputs();
  if (!fits) finish();
  batched_.push_back({.error = &error, .candidate = std::move(candidate)});
}

void BatchedCandidates::finish() {
  std::vector<char> opens(batched_.size());
  baseline_.slots().each(batched_.size(), [&](size_t k) {
    batched_[k].outcomes.resize(samples_.size());
    opens[k] = attempt(*batched_[k].error, [&] { batched_[k].candidate->open(); });
  });
  for (size_t k = batched_.size(); k-- > 0;) {
    if (opens[k]) continue;
    done_(*batched_[k].error, {});
    batched_.erase(batched_.begin() + static_cast<ptrdiff_t>(k));
  }
  baseline_.slots().each(samples_.size(), [&](size_t i) { run(order_[i]); });
  for (Batched& batched : batched_) {
    std::vector<ErrorFigures> figures;
    for (const Outcome& outcome : batched.outcomes)
      if (outcome.figures) figures.push_back(*outcome.figures);
    const auto failed = std::ranges::find_if(batched.outcomes, [](const Outcome& one) { return !one.figures; });
    if (failed != batched.outcomes.end()) {
      batched.error->status = UnitStatus::kFailed;
      batched.error->why = failed->why;
      figures.clear();
    }
    done_(*batched.error, std::move(figures));
  }
  batched_.clear();
}

void BatchedCandidates::run(size_t position) {
  const size_t sample = samples_[position];
  std::vector<Batched*> here;
  std::vector<run::Values> made;
  for (Batched& one : batched_) {
    try {
      made.push_back(one.candidate->run(sample));
      here.push_back(&one);
    } catch (const Error& failed) {
      if (CallClock::is_over()) throw;
      one.outcomes[position].why = failed.what();
    }
  }
  if (here.size() < 2 || !here.front()->candidate->is_changed()) {
    for (size_t k = 0; k < here.size(); ++k) run_alone(*here[k], position, std::move(made[k]));
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
      here[k]->outcomes[position].figures = figures[k];
    } else {
      run_alone(*here[k], position, std::move(made[k]));
    }
  }
}

void BatchedCandidates::run_alone(Batched& one, size_t position, run::Values made) {
  const size_t sample = samples_[position];
  try {
    const Arrays& wanted = wanted_[sample];
    try {
      one.outcomes[position].figures = baseline_.figures_behind(*one.candidate, sample, std::move(made), wanted);
    } catch (const run::HeldArrayLost&) {
      one.outcomes[position].figures = baseline_.figures(*one.candidate, sample, wanted);
    }
  } catch (const Error& failed) {
    if (CallClock::is_over()) throw;
    one.outcomes[position].why = failed.what();
  }
}

}  // namespace thaw::measuring
