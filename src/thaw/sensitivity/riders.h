// Units that change the same values are measured together: each runs its own section, and behind it they go on in one batch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "thaw/sensitivity/baseline.h"

namespace thaw::measuring {

class Riders {
 public:
  // Called with each unit when it was measured, with a figure for each of the samples, or failed, with none.
  using Done = std::function<void(UnitError& error, std::vector<ErrorFigures> figures)>;

  // On all samples that are wanted, or on `samples` of them.
  Riders(Baseline& baseline, const Wanted& wanted, Done done);
  Riders(Baseline& baseline, const Wanted& wanted, std::vector<size_t> samples, Done done)
      : baseline_(baseline), wanted_(wanted), samples_(std::move(samples)), done_(std::move(done)) {}

  // Measures those that wait, unless this one goes with them.
  void add(UnitError& error, std::unique_ptr<Candidate> candidate);
  void finish();

 private:
  struct Rider {
    UnitError* error = nullptr;
    std::unique_ptr<Candidate> candidate;
    std::vector<ErrorFigures> figures = {};
    bool is_well = true;
  };

  void run(size_t sample);
  void run_alone(Rider& rider, size_t sample, Arrays made);

  Baseline& baseline_;
  const Wanted& wanted_;
  std::vector<size_t> samples_;
  Done done_;
  std::vector<Rider> riders_;
};

}  // namespace thaw::measuring
