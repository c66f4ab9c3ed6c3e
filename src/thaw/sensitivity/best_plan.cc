#include "thaw/sensitivity/best_plan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/sensitivity/confirm_worst.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/plan.h"

namespace thaw::measuring {
namespace {

constexpr int kMostTries = 4;

class Chooser {
 public:
  Chooser(const ir::Model& model, const SensitivityReport& report, const PlanOptions& options,
          const std::filesystem::path& data, const quantizing::OpenSamples& open)
      : model_(model), report_(report), options_(options), data_(data), open_(open) {}

  BestPlan run() {
    std::vector<MixedPlan> plans = plans_within(report_, options_);
    BestPlan best = measured(std::move(plans.front()));
    if (!options_.max_bytes) return best;
    for (int i = 0; i < kMostTries && !fits(best); ++i) best = narrower(std::move(best));
    for (size_t i = 1; i < plans.size(); ++i) {
      if (fits(best) && rank_of(plans[i].predicted, report_.metric) >= error_of(best)) continue;
      BestPlan other = measured(std::move(plans[i]));
      if (fits(other) && (!fits(best) || error_of(other) < error_of(best))) best = std::move(other);
    }
    return best;
  }

 private:
  BestPlan measured(MixedPlan plan) const {
    MeasuredPlan found = measure_plan(model_, report_, plan, data_, open_);
    return {std::move(plan), std::move(found)};
  }

  bool fits(const BestPlan& best) const { return best.measured.bytes <= *options_.max_bytes; }
  double error_of(const BestPlan& best) const { return rank_of(mean_of(best.measured.figures), report_.metric); }

  // What nodes save alone may be more than they save together.
  BestPlan narrower(BestPlan best) const {
    const uint64_t excess = best.measured.bytes - *options_.max_bytes;
    if (best.plan.bytes < excess) return best;
    PlanOptions stricter = options_;
    stricter.max_bytes = best.plan.bytes - excess;
    try {
      return measured(measuring::plan(report_, stricter));
    } catch (const Error& none) {
      if (none.code() != ErrorCode::kInvalidArgument) throw;
      return best;
    }
  }

  const ir::Model& model_;
  const SensitivityReport& report_;
  const PlanOptions& options_;
  const std::filesystem::path& data_;
  const quantizing::OpenSamples& open_;
};

}  // namespace

BestPlan best_plan(const ir::Model& model, const SensitivityReport& report, const PlanOptions& options,
                   const std::filesystem::path& data, const quantizing::OpenSamples& open) {
  return Chooser(model, report, options, data, open).run();
}

}  // namespace thaw::measuring
