#include "thaw/sensitivity/interleaved.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"

namespace thaw::measuring {
namespace {

// One unit: made by whoever comes to it first, and gone with its last sample.
class Side {
 public:
  Side(UnitError& error, size_t samples) : error_(error), figures_(samples), why_(samples), left_(samples) {}

  void know(size_t sample, const ErrorFigures& figures) { figures_[sample] = figures; }

  void run(Baseline& baseline, CandidateMaker& maker, size_t sample, const Arrays& wanted) {
    try {
      // Once it is made, nobody writes it while a sample runs.
      if (Candidate* candidate = made(maker); candidate && !figures_[sample])
        figures_[sample] = baseline.figures(*candidate, sample, wanted);
    } catch (const Error& failed) {
      if (CallClock::is_over()) throw;
      why_[sample] = failed.what();
    }
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) candidate_.reset();
  }

  // Of the samples on which it failed the first one says why.
  void settle() {
    const auto failed = std::ranges::find_if(why_, [](const std::string& why) { return !why.empty(); });
    if (failed != why_.end()) error_.why = *failed;
    error_.in.clear();
    error_.status = error_.why.empty() ? UnitStatus::kMeasured : UnitStatus::kFailed;
    if (error_.status == UnitStatus::kFailed) return;
    for (const auto& figures : figures_) error_.in.push_back(*figures);
  }

 private:
  Candidate* made(CandidateMaker& maker) {
    const std::lock_guard lock(mutex_);
    if (!is_made_) {
      is_made_ = true;
      candidate_ = maker.make(error_);
      if (candidate_) candidate_->open();
    }
    return candidate_.get();
  }

  UnitError& error_;
  std::vector<std::optional<ErrorFigures>> figures_;  // by sample, as is the next
  std::vector<std::string> why_;
  std::mutex mutex_;  // of all below
  bool is_made_ = false;
  std::unique_ptr<Candidate> candidate_;
  size_t left_;
};

}  // namespace

void measure_interleaved(Baseline& baseline, CandidateMaker& maker, const Wanted& wanted, const KnownFirst& known,
                         const std::vector<UnitError*>& errors) {
  std::deque<Side> sides;
  for (UnitError* error : errors) {
    Side& side = sides.emplace_back(*error, wanted.size());
    if (const auto at = known.find(error); at != known.end()) side.know(0, at->second);
  }
  std::vector<size_t> order(wanted.size());  // the largest first
  std::iota(order.begin(), order.end(), size_t{0});
  const CachedArrays& kept = baseline.cut().kept();
  std::ranges::stable_sort(order, std::greater(), [&](size_t sample) { return kept.bytes(sample); });
  baseline.slots().each(errors.size() * order.size(), [&](size_t i) {
    const size_t sample = order[i % order.size()];
    sides[i / order.size()].run(baseline, maker, sample, wanted[sample]);
  });
  for (Side& side : sides) side.settle();
}

}  // namespace thaw::measuring
