#include "thaw/sensitivity/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/sensitivity/attempt.h"
#include "thaw/sensitivity/batched_candidates.h"
#include "thaw/sensitivity/propagated_noise.h"
#include "thaw/sensitivity/representative_samples.h"

namespace thaw::measuring {
namespace {

constexpr size_t kLocalSamples = 2;  // that the error at the section's end is measured on
constexpr size_t kChecked = 5;       // that are run to the outputs before any is confirmed
constexpr double kHopeless = 0.9;    // a correlation of these below which none is
constexpr double kRanks = 0.97;      // the least of those that are confirmed
constexpr size_t kFew = 12;          // that are confirmed at least: of few units that costs little

ErrorFigures scaled(const ErrorFigures& figures, double factor) {
  return {figures.mse * factor, figures.cosine * factor, figures.kl * factor, figures.noise * factor};
}

// One unit of those that are predicted.
struct Local {
  UnitError* error = nullptr;
  size_t position = 0;  // among all of them
  std::unique_ptr<Candidate> candidate;
  PropagatedNoise noise = {};  // at the end of its section: the sum over the values that change
  // What its section makes of the first sample, while it may be one of those that are run to the outputs.
  Arrays first = {};
};

// Units that change the same values before the same tail.
class Group {
 public:
  // In any order: of units that are alike the first by its position counts.
  void add(Local local) {
    Local* added = units_.emplace_back(std::make_unique<Local>(std::move(local))).get();
    const auto leads = [&](const Local* before, const auto& share) {
      if (!before) return true;
      const double now = share(*added), then = share(*before);
      return now > then || (now == then && added->position < before->position);
    };
    Local *const differing = most_differing_, *const common = most_common_;
    if (leads(differing, differing_of)) most_differing_ = added;
    if (leads(common, share_of_common)) most_common_ = added;
    for (Local* other : {differing, common, added})
      if (other && other != most_differing_ && other != most_common_) other->first = {};
  }

  // By their positions.
  std::vector<Local*> units() const {
    std::vector<Local*> sorted;
    for (const auto& unit : units_) sorted.push_back(unit.get());
    std::ranges::sort(sorted, {}, &Local::position);
    return sorted;
  }
  // Those whose errors at the outputs tell the factors; they may be one.
  Local& most_differing() const { return *most_differing_; }
  Local& most_common() const { return *most_common_; }

 private:
  static double differing_of(const Local& local) { return local.noise.differing; }
  // As a share: of two that are alike nothing more is learnt.
  static double share_of_common(const Local& local) {
    return local.noise.all() > 0 ? local.noise.common / std::sqrt(local.noise.all()) : 0;
  }

  std::vector<std::unique_ptr<Local>> units_;
  Local *most_differing_ = nullptr, *most_common_ = nullptr;
};

// What a unit's noise became at the outputs.
struct Known {
  PropagatedNoise noise;
  ErrorFigures figures;
};

// The factors of the two noises, of each figure.
struct Factors {
  ErrorFigures common, differing;

  ErrorFigures at(const PropagatedNoise& noise) const {
    const ErrorFigures a = scaled(common, noise.common), b = scaled(differing, noise.differing);
    return {a.mse + b.mse, a.cosine + b.cosine, a.kl + b.kl, a.noise + b.noise};
  }
};

// From two units: the two equations, where they tell the noises apart; else one factor for both.
std::pair<double, double> solve(const Known& p, double p_figure, const Known& q, double q_figure) {
  constexpr double kTellsApart = 0.05;
  const double determinant = p.noise.common * q.noise.differing - q.noise.common * p.noise.differing;
  const double size = p.noise.all() * q.noise.all();
  if (size > 0 && std::abs(determinant) > kTellsApart * size) {
    const double common = (p_figure * q.noise.differing - q_figure * p.noise.differing) / determinant;
    const double differing = (p.noise.common * q_figure - q.noise.common * p_figure) / determinant;
    if (common >= 0 && differing >= 0) return {common, differing};
  }
  const double sum = p.noise.all() + q.noise.all();
  const double one = sum > 0 ? (p_figure + q_figure) / sum : 0;
  return {one, one};
}

Factors factors_of(const Known& p, const Known& q) {
  Factors factors;
  std::tie(factors.common.mse, factors.differing.mse) = solve(p, p.figures.mse, q, q.figures.mse);
  std::tie(factors.common.cosine, factors.differing.cosine) = solve(p, p.figures.cosine, q, q.figures.cosine);
  std::tie(factors.common.kl, factors.differing.kl) = solve(p, p.figures.kl, q, q.figures.kl);
  std::tie(factors.common.noise, factors.differing.noise) = solve(p, p.figures.noise, q, q.figures.noise);
  return factors;
}

class Predictor {
 public:
  Predictor(const Confirming& with, const std::function<void()>& advance)
      : with_(with), baseline_(with.baseline), advance_(advance) {}

  bool run(const std::vector<UnitError*>& errors) {
    baseline_.slots().each(errors.size(), [&](size_t i) {
      attempt(*errors[i], [&] { measure_locally(*errors[i], i); });
      const std::lock_guard lock(mutex_);
      advance_();
    });
    std::vector<Group*> groups;
    for (auto& [changed, group] : groups_) groups.push_back(&group);
    baseline_.slots().each(groups.size(), [&](size_t i) { predict_group(*groups[i]); });
    const std::vector<double> checked = check_some(groups);
    if (!do_rank(checked, errors, with_.metric, kHopeless)) return false;
    const std::vector<double> off = confirm_worst(with_, errors, kFew, checked, first_);
    return do_rank(off, errors, with_.metric, kRanks);
  }

 private:
  using Key = std::pair<size_t, std::set<std::string>>;  // the tail, and the values that change before it

  // Measures a unit that nothing lies behind to the outputs, others to the end of their section.
  void measure_locally(UnitError& error, size_t position) {
    Local local{.error = &error, .position = position, .candidate = with_.maker.make(error)};
    if (!local.candidate) return;
    if (local.candidate->tail() < baseline_.sections()) {
      measure_noise(std::move(local));
      return;
    }
    std::vector<ErrorFigures> figures;
    for (size_t i = 0; i < with_.wanted.size(); ++i)
      figures.push_back(baseline_.figures(*local.candidate, i, with_.wanted[i]));
    error.in = std::move(figures);
    error.status = UnitStatus::kMeasured;
  }

  void measure_noise(Local local) {
    const size_t samples = std::min(kLocalSamples, with_.wanted.size());
    std::set<std::string> changed;
    for (size_t i = 0; i < samples; ++i) {
      Arrays made = local.candidate->run_here(i);
      for (const auto& [name, array] : made) {
        const std::optional<PropagatedNoise> noise = propagated_noise(baseline_.cut().kept().get(i, name), array);
        if (!noise)
          throw Error(ErrorCode::kRuntimeFailed,
                      {.what = "'" + name + "' has a NaN or an infinity", .where = "the converted model"});
        local.noise.common += noise->common / static_cast<double>(samples);
        local.noise.differing += noise->differing / static_cast<double>(samples);
        changed.insert(name);
      }
      if (i == 0) local.first = std::move(made);
    }
    local.candidate->release();
    const size_t tail = local.candidate->tail();
    const std::lock_guard lock(mutex_);
    groups_[{tail, std::move(changed)}].add(std::move(local));
  }

  void predict_group(Group& group) {
    std::vector<Known> known;
    const auto measure_one = [&](Local& local) {
      attempt(*local.error, [&] {
        // On one sample: what is wanted is a ratio.
        const ErrorFigures figures =
            baseline_.figures_behind(*local.candidate, 0, {.arrays = std::move(local.first)}, with_.wanted[0]);
        know_first(*local.error, figures);
        known.push_back({local.noise, figures});
      });
    };
    measure_one(group.most_differing());
    if (&group.most_common() != &group.most_differing()) measure_one(group.most_common());
    const Factors factors = known.empty() ? Factors{} : factors_of(known.front(), known.back());
    for (const Local* local : group.units()) {
      UnitError& error = *local->error;
      if (!error.why.empty()) continue;
      error.status = known.empty() ? UnitStatus::kFailed : UnitStatus::kPredicted;
      error.in = {factors.at(local->noise)};
      if (known.empty()) error.why = "the effect of its error on the outputs could not be measured";
    }
  }

  // A few of those that were predicted, from all over the model, on one sample: log(measured / predicted) of each.
  std::vector<double> check_some(const std::vector<Group*>& groups) {
    std::vector<const Local*> predicted;
    for (const Group* group : groups)
      for (const Local* local : group->units())
        if (local->error->status == UnitStatus::kPredicted && !first_.contains(local->error))
          predicted.push_back(local);
    const size_t count = std::min(kChecked, predicted.size());
    std::vector<double> ratios(count, 0);  // 0 where there is none
    baseline_.slots().each(count, [&](size_t i) {
      const Local& local = *predicted[(2 * i + 1) * predicted.size() / (2 * count)];
      attempt(*local.error, [&] {
        const ErrorFigures figures = baseline_.figures(*local.candidate, 0, with_.wanted[0]);
        local.candidate->release();
        know_first(*local.error, figures);
        const double found = rank_of(figures, with_.metric), expected = mean_rank(*local.error, with_.metric);
        if (found > 0 && expected > 0) ratios[i] = found / expected;
      });
    });
    std::vector<double> off;
    for (const double ratio : ratios)
      if (ratio > 0) off.push_back(std::log(ratio));
    return off;
  }

  void know_first(const UnitError& error, const ErrorFigures& figures) {
    const std::lock_guard lock(mutex_);
    first_.emplace(&error, figures);
  }

  const Confirming& with_;
  Baseline& baseline_;
  const std::function<void()>& advance_;
  std::mutex mutex_;  // of all below, and of `advance`
  std::map<Key, Group> groups_;
  KnownFirst first_;
};

}  // namespace

bool predict(const Confirming& with, const std::vector<UnitError*>& errors, const std::function<void()>& advance) {
  return Predictor(with, advance).run(errors);
}

void estimate_by_samples(const Confirming& with, const std::vector<ErrorFigures>& all,
                         const std::vector<UnitError*>& errors, const std::function<void()>& advance) {
  const std::vector<size_t> which = representative_samples(all, with.metric);
  BatchedCandidates batched(with.baseline, with.wanted, which,
                            [&](UnitError& error, const std::vector<ErrorFigures>& some) {
                              if (some.empty()) return;
                              error.in = {mean_by_ratio(some, which, all)};
                              error.status = UnitStatus::kPredicted;
                            });
  for (UnitError* error : errors) {
    if (error->status != UnitStatus::kFailed)
      attempt(*error, [&] {
        if (auto candidate = with.maker.make(*error)) batched.add(*error, std::move(candidate));
      });
    advance();
  }
  batched.finish();
  confirm_worst(with, errors, 0);
}

}  // namespace thaw::measuring
