// Units that change the same values are measured together: each runs its own section, and behind it they go on in one batch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/sensitivity/baseline.h"

namespace thaw::measuring {

class BatchedCandidates {
 public:
  // Called with each unit when it was measured, with a figure for each of the samples, or failed, with none.
  using Done = std::function<void(UnitError& error, std::vector<ErrorFigures> figures)>;

  // On all samples that are wanted, or on `samples` of them.
  BatchedCandidates(Baseline& baseline, const Wanted& wanted, Done done);
  BatchedCandidates(Baseline& baseline, const Wanted& wanted, std::vector<size_t> samples, Done done);

  // Measures those that wait, unless this one goes with them.
  void add(UnitError& error, std::unique_ptr<Candidate> candidate);
  void finish();

 private:
  // What came of a unit on one sample: a figure, or why there is none.
  struct Outcome {
    std::optional<ErrorFigures> figures = {};
    std::string why = {};
  };
  struct Batched {
    UnitError* error = nullptr;
    std::unique_ptr<Candidate> candidate;
    std::vector<Outcome> outcomes = {};  // by sample, in the order of samples_
  };

  void run(size_t position);
  void run_alone(Batched& one, size_t position, run::Values made);

  Baseline& baseline_;
  const Wanted& wanted_;
  std::vector<size_t> samples_;
  std::vector<size_t> order_;  // positions in samples_, the largest sample first
  Done done_;
  std::vector<Batched> batched_;
};

}  // namespace thaw::measuring
