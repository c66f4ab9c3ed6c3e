#include "thaw/sensitivity/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/sensitivity/attempt.h"
#include "thaw/sensitivity/passing_noise.h"
#include "thaw/sensitivity/riders.h"
#include "thaw/sensitivity/telling_samples.h"

namespace thaw::measuring {
namespace {

constexpr size_t kLocalSamples = 2;  // that the error at the section's end is measured on
constexpr size_t kTogether = 8;      // that are measured there at a time: each has a session of its own
constexpr size_t kChecked = 5;       // that are run to the outputs before any is confirmed
constexpr double kHopeless = 0.9;    // a correlation of these below which none is
constexpr double kRanks = 0.97;      // the least of those that are confirmed
constexpr size_t kFew = 12;          // that are confirmed at least: of few units that costs little

ErrorFigures scaled(const ErrorFigures& figures, double factor) {
  return {figures.mse * factor, figures.cosine * factor, figures.kl * factor, figures.noise * factor};
}

// One unit of those that are foretold.
struct Local {
  UnitError* error = nullptr;
  std::unique_ptr<Candidate> candidate;
  PassingNoise noise = {};  // at the end of its section: the sum over the values that change
  std::set<std::string> changed = {};
  bool is_run = false;  // to the outputs, on one sample
};

// What a unit's noise became at the outputs.
struct Known {
  PassingNoise noise;
  ErrorFigures figures;
};

// The factors of the two noises, of each figure.
struct Factors {
  ErrorFigures common, differing;

  ErrorFigures at(const PassingNoise& noise) const {
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
  Predictor(Baseline& baseline, const Conversions& conversions, const std::vector<SensitivityUnit>& units,
            const Wanted& wanted, ErrorMetric metric, const std::function<void()>& advance)
      : baseline_(baseline),
        conversions_(conversions),
        units_(units),
        wanted_(wanted),
        metric_(metric),
        advance_(advance) {}

  bool run(const std::vector<UnitError*>& errors) {
    std::vector<Local> waiting;
    for (UnitError* error : errors) {
      attempt(*error, [&] { convert(*error, waiting); });
      if (waiting.size() == kTogether) measure_locally(waiting);
      advance_();
    }
    measure_locally(waiting);
    std::vector<std::vector<Local>*> groups;
    for (auto& [changed, group] : groups_) groups.push_back(&group);
    baseline_.lanes().each(groups.size(), [&](size_t i) { predict_group(*groups[i]); });
    const std::vector<double> checked = check_some();
    if (!do_rank(checked, errors, metric_, kHopeless)) return false;
    const Confirming with{baseline_, conversions_, units_, wanted_, metric_};
    const std::vector<double> off = confirm_worst(with, errors, kFew, checked);
    return do_rank(off, errors, metric_, kRanks);
  }

 private:
  using Key = std::pair<size_t, std::set<std::string>>;  // the tail, and the values that change before it

  // Measures a unit that nothing lies behind; the others wait.
  void convert(UnitError& error, std::vector<Local>& waiting) {
    const Converted converted = conversions_.only(units_[error.unit], error.precision);
    error.bytes = converted.bytes;
    error.why = converted.why;
    if (!converted.why.empty()) return;
    auto candidate = std::make_unique<Candidate>(baseline_.cut(), *converted.model);
    if (candidate->tail() < baseline_.sections()) {
      waiting.push_back({.error = &error, .candidate = std::move(candidate)});
    } else {
      error.in = baseline_.figures(*candidate, wanted_);
      error.status = UnitStatus::kMeasured;
    }
  }

  void measure_locally(std::vector<Local>& waiting) {
    std::vector<char> is_well(waiting.size());
    baseline_.lanes().each(
        waiting.size(), [&](size_t k) { is_well[k] = attempt(*waiting[k].error, [&] { measure_noise(waiting[k]); }); });
    for (size_t k = 0; k < waiting.size(); ++k)
      if (is_well[k]) groups_[{waiting[k].candidate->tail(), waiting[k].changed}].push_back(std::move(waiting[k]));
    waiting.clear();
  }

  void measure_noise(Local& local) {
    const size_t samples = std::min(kLocalSamples, wanted_.size());
    for (size_t i = 0; i < samples; ++i)
      for (const auto& [name, array] : local.candidate->run(i)) {
        const std::optional<PassingNoise> noise = passing_noise(baseline_.cut().kept().get(i, name), array);
        if (!noise)
          throw Error(ErrorCode::kRuntimeFailed,
                      {.what = "'" + name + "' has a NaN or an infinity", .where = "the converted model"});
        local.noise.common += noise->common / static_cast<double>(samples);
        local.noise.differing += noise->differing / static_cast<double>(samples);
        local.changed.insert(name);
      }
    local.candidate->release();
  }

  // A few of those that were foretold, from all over the model, on one sample: log(measured / foretold) of each.
  std::vector<double> check_some() {
    std::vector<Local*> foretold;
    for (auto& [changed, group] : groups_)
      for (Local& local : group)
        if (!local.is_run && local.error->status == UnitStatus::kPredicted) foretold.push_back(&local);
    const size_t count = std::min(kChecked, foretold.size());
    std::vector<double> ratios(count, 0);  // 0 where there is none
    baseline_.lanes().each(count, [&](size_t i) {
      Local& local = *foretold[(2 * i + 1) * foretold.size() / (2 * count)];
      attempt(*local.error, [&] {
        const double found = rank_of(baseline_.figures(*local.candidate, 0, wanted_[0]), metric_);
        const double told = mean_rank(*local.error, metric_);
        if (found > 0 && told > 0) ratios[i] = found / told;
        local.candidate->release();
      });
    });
    std::vector<double> off;
    for (const double ratio : ratios)
      if (ratio > 0) off.push_back(std::log(ratio));
    return off;
  }

  void predict_group(std::vector<Local>& group) {
    std::vector<Known> known;
    const auto measure_one = [&](Local& local) {
      attempt(*local.error, [&] {
        // On one sample: what is wanted is a ratio.
        local.is_run = true;
        known.push_back({local.noise, baseline_.figures(*local.candidate, 0, wanted_[0])});
        local.candidate->release();
      });
    };
    const auto most_differing =
        std::ranges::max_element(group, {}, [](const Local& local) { return local.noise.differing; });
    // Most of the other kind, as a share: of two that are alike nothing more is learnt.
    const auto most_common = std::ranges::max_element(group, {}, [](const Local& local) {
      return local.noise.all() > 0 ? local.noise.common / std::sqrt(local.noise.all()) : 0;
    });
    measure_one(*most_differing);
    if (most_common != most_differing) measure_one(*most_common);
    const Factors factors = known.empty() ? Factors{} : factors_of(known.front(), known.back());
    for (Local& local : group) {
      UnitError& error = *local.error;
      if (!error.why.empty()) continue;
      error.status = known.empty() ? UnitStatus::kFailed : UnitStatus::kPredicted;
      error.in = {factors.at(local.noise)};
      if (known.empty()) error.why = "what its error does to the outputs could not be measured";
    }
  }

  Baseline& baseline_;
  const Conversions& conversions_;
  const std::vector<SensitivityUnit>& units_;
  const Wanted& wanted_;
  const ErrorMetric metric_;
  const std::function<void()>& advance_;
  std::map<Key, std::vector<Local>> groups_;
};

}  // namespace

bool predict(Baseline& baseline, const Conversions& conversions, const std::vector<SensitivityUnit>& units,
             const Wanted& wanted, ErrorMetric metric, const std::vector<UnitError*>& errors,
             const std::function<void()>& advance) {
  return Predictor(baseline, conversions, units, wanted, metric, advance).run(errors);
}

void estimate_by_samples(const Confirming& with, const std::vector<ErrorFigures>& all,
                         const std::vector<UnitError*>& errors, const std::function<void()>& advance) {
  const std::vector<size_t> which = telling_samples(all, with.metric);
  Riders riders(with.baseline, with.wanted, which, [&](UnitError& error, const std::vector<ErrorFigures>& some) {
    if (some.empty()) return;
    error.in = {mean_by_ratio(some, which, all)};
    error.status = UnitStatus::kPredicted;
  });
  for (UnitError* error : errors) {
    if (error->status != UnitStatus::kFailed)
      attempt(*error, [&] {
        const Converted converted = with.conversions.only(with.units[error->unit], error->precision);
        riders.add(*error, std::make_unique<Candidate>(with.baseline.cut(), *converted.model));
      });
    advance();
  }
  riders.finish();
  confirm_worst(with, errors, 0);
}

}  // namespace thaw::measuring
