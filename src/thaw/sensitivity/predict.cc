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

namespace thaw::measuring {
namespace {

constexpr size_t kLocalSamples = 2;  // that the error at the section's end is measured on
constexpr double kWorst = 0.1;       // share of the units that is confirmed
constexpr double kDoubtful = 0.05;   // and at most so many more, where the order is in doubt
constexpr size_t kFew = 12;          // that are confirmed at least: of few units that costs little
constexpr double kDoubt = 1.5;       // factor of the figure within which the order is in doubt

ErrorFigures scaled(const ErrorFigures& figures, double factor) {
  return {figures.mse * factor, figures.cosine * factor, figures.kl * factor, figures.noise * factor};
}

double rank_of(const ErrorFigures& figures, ErrorMetric metric) {
  return metric == ErrorMetric::kSqnr ? figures.noise : figure_of(figures, metric);
}

double mean_rank(const UnitError& error, ErrorMetric metric) {
  double sum = 0;
  for (const ErrorFigures& figures : error.in) sum += rank_of(figures, metric);
  return error.in.empty() ? 0 : sum / static_cast<double>(error.in.size());
}

// One unit of those that are foretold.
struct Local {
  UnitError* error = nullptr;
  std::unique_ptr<Candidate> candidate;
  PassingNoise noise = {};  // at the end of its section: the sum over the values that change
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

  void run(const std::vector<UnitError*>& errors) {
    for (UnitError* error : errors) {
      measure_locally(*error);
      advance_();
    }
    for (auto& [changed, group] : groups_) predict_group(group);
    confirm(errors);
  }

 private:
  using Key = std::pair<size_t, std::set<std::string>>;  // the tail, and the values that change before it

  void measure_locally(UnitError& error) {
    attempt(error, [&] {
      Converted converted = conversions_.only(units_[error.unit], error.precision);
      error.bytes = converted.bytes;
      if (!converted.why.empty()) {
        error.why = converted.why;
        return;
      }
      auto candidate = std::make_unique<Candidate>(baseline_.cut(), *converted.model);
      Local local{.error = &error};
      std::set<std::string> changed;
      const size_t samples = std::min(kLocalSamples, wanted_.size());
      const bool is_whole = candidate->tail() >= baseline_.sections();
      for (size_t i = 0; i < (is_whole ? wanted_.size() : samples); ++i) {
        Arrays made = candidate->is_changed() ? candidate->run(i) : Arrays{};
        // Nothing lies behind it: this is the measure itself.
        if (is_whole) {
          error.in.push_back(baseline_.figures_behind(*candidate, i, std::move(made), wanted_[i]));
          continue;
        }
        for (const auto& [name, array] : made) {
          const std::optional<PassingNoise> noise = passing_noise(baseline_.cut().kept().get(i, name), array);
          if (!noise)
            throw Error(ErrorCode::kRuntimeFailed,
                        {.what = "'" + name + "' has a NaN or an infinity", .where = "the converted model"});
          local.noise.common += noise->common / static_cast<double>(samples);
          local.noise.differing += noise->differing / static_cast<double>(samples);
          changed.insert(name);
        }
      }
      if (is_whole) {
        error.status = UnitStatus::kMeasured;
        return;
      }
      const Key key{candidate->tail(), std::move(changed)};
      local.candidate = std::move(candidate);
      local.candidate->release();
      groups_[key].push_back(std::move(local));
    });
  }

  void predict_group(std::vector<Local>& group) {
    std::vector<Known> known;
    const auto measure_one = [&](Local& local) {
      attempt(*local.error, [&] {
        // On one sample: what is wanted is a ratio.
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

  // Measures the worst, until those that are worst have been measured; then those that are hardly better; then, of few
  // units, those that come next.
  void confirm(const std::vector<UnitError*>& errors) {
    std::vector<UnitError*> order;
    for (UnitError* error : errors)
      if (error->status != UnitStatus::kFailed) order.push_back(error);
    const double count = static_cast<double>(order.size());
    const auto worst = static_cast<size_t>(std::ceil(kWorst * count));
    size_t budget = worst + static_cast<size_t>(std::ceil(kDoubtful * count));
    const auto sort = [&] {
      std::ranges::stable_sort(order, [&](const UnitError* a, const UnitError* b) {
        return mean_rank(*a, metric_) > mean_rank(*b, metric_);
      });
    };
    for (bool is_settled = false; !is_settled && budget > 0;) {
      sort();
      is_settled = true;
      for (size_t i = 0; i < worst && i < order.size() && budget > 0; ++i)
        if (order[i]->status == UnitStatus::kPredicted) {
          confirm(*order[i]);
          --budget;
          is_settled = false;
        }
    }
    sort();
    if (worst == 0 || worst > order.size()) return;
    const double limit = mean_rank(*order[worst - 1], metric_) / kDoubt;
    for (size_t i = worst; i < order.size() && budget > 0 && mean_rank(*order[i], metric_) > limit; ++i)
      if (order[i]->status == UnitStatus::kPredicted) {
        confirm(*order[i]);
        --budget;
      }
    const auto confirmed = static_cast<size_t>(
        std::ranges::count(order, UnitStatus::kMeasured, [](const UnitError* error) { return error->status; }));
    for (size_t i = 0, left = kFew - std::min(kFew, confirmed); i < order.size() && left > 0; ++i)
      if (order[i]->status == UnitStatus::kPredicted) {
        confirm(*order[i]);
        --left;
      }
  }

  void confirm(UnitError& error) {
    attempt(error, [&] {
      const Converted converted = conversions_.only(units_[error.unit], error.precision);
      Candidate candidate(baseline_.cut(), *converted.model);
      std::vector<ErrorFigures> figures;
      for (size_t i = 0; i < wanted_.size(); ++i) figures.push_back(baseline_.figures(candidate, i, wanted_[i]));
      error.in = std::move(figures);
      error.status = UnitStatus::kMeasured;
    });
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

void predict(Baseline& baseline, const Conversions& conversions, const std::vector<SensitivityUnit>& units,
             const Wanted& wanted, ErrorMetric metric, const std::vector<UnitError*>& errors,
             const std::function<void()>& advance) {
  Predictor(baseline, conversions, units, wanted, metric, advance).run(errors);
}

}  // namespace thaw::measuring
