#include "thaw/sensitivity/confirm_worst.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thaw::measuring {
namespace {

constexpr double kWorst = 0.1;           // share of the units that is confirmed
constexpr double kMostConfirmed = 0.25;  // and with those where the order is in doubt
constexpr double kDeviations = 2;        // within which it is
constexpr double kLeastDoubt = 0.1;      // of the logarithm: few that are confirmed tell little
constexpr size_t kAtOnce = 4;            // of those in doubt, before it is asked again who is

class Confirmer {
 public:
  Confirmer(const Confirming& with, const std::vector<UnitError*>& errors, std::vector<double> off,
            const KnownFirst& known)
      : with_(with), off_before_(std::move(off)), known_(known) {
    for (UnitError* error : errors)
      if (error->status != UnitStatus::kFailed) order_.push_back(error);
  }

  std::vector<double> run(size_t at_least) {
    const double count = static_cast<double>(order_.size());
    const auto worst = static_cast<size_t>(std::ceil(kWorst * count));
    size_t budget = static_cast<size_t>(std::ceil(kMostConfirmed * count));
    for (;;) {
      sort();
      std::vector<UnitError*> next = predicted(worst, budget, 0);
      if (next.empty()) break;
      budget -= next.size();
      confirm(next);
    }
    if (worst == 0 || worst > order_.size()) return std::move(off_);
    for (;;) {
      const double limit = mean_rank(*order_[worst - 1], with_.metric) * std::exp(-doubt());
      std::vector<UnitError*> next = predicted(order_.size(), std::min(budget, kAtOnce), limit);
      if (next.empty()) break;
      budget -= next.size();
      confirm(next);
      sort();
    }
    const auto confirmed = static_cast<size_t>(std::ranges::count(order_, UnitStatus::kMeasured, &UnitError::status));
    confirm(predicted(order_.size(), at_least - std::min(at_least, confirmed), 0));
    return std::move(off_);
  }

 private:
  // Of the first so many in order, those that are predicted and no less than the limit.
  std::vector<UnitError*> predicted(size_t among, size_t at_most, double limit) const {
    std::vector<UnitError*> found;
    for (size_t i = 0; i < std::min(among, order_.size()) && found.size() < at_most; ++i)
      if (order_[i]->status == UnitStatus::kPredicted && mean_rank(*order_[i], with_.metric) >= limit)
        found.push_back(order_[i]);
    return found;
  }

  void sort() {
    std::ranges::stable_sort(order_, [&](const UnitError* a, const UnitError* b) {
      return mean_rank(*a, with_.metric) > mean_rank(*b, with_.metric);
    });
  }

  double doubt() const {
    double squares = 0, count = 0;
    for (const std::vector<double>& some : {off_, off_before_})
      for (const double off : some) {
        squares += off * off;
        ++count;
      }
    return std::max(kLeastDoubt, kDeviations * std::sqrt(squares / std::max(1.0, count)));
  }

  void confirm(const std::vector<UnitError*>& errors) {
    std::vector<double> predicted;
    for (const UnitError* error : errors) predicted.push_back(mean_rank(*error, with_.metric));
    measure_interleaved(with_.baseline, with_.maker, with_.wanted, known_, errors);
    for (size_t i = 0; i < errors.size(); ++i)
      if (const double found = mean_rank(*errors[i], with_.metric); predicted[i] > 0 && found > 0)
        off_.push_back(std::log(found / predicted[i]));
  }

  const Confirming& with_;
  std::vector<UnitError*> order_;
  std::vector<double> off_, off_before_;  // log(measured / predicted): here, and of others
  const KnownFirst& known_;
};

}  // namespace

double rank_of(const ErrorFigures& figures, ErrorMetric metric) {
  return metric == ErrorMetric::kSqnr ? figures.noise : figure_of(figures, metric);
}

double mean_rank(const UnitError& error, ErrorMetric metric) {
  double sum = 0;
  for (const ErrorFigures& figures : error.in) sum += rank_of(figures, metric);
  return error.in.empty() ? 0 : sum / static_cast<double>(error.in.size());
}

std::vector<double> confirm_worst(const Confirming& with, const std::vector<UnitError*>& errors, size_t at_least,
                                  std::vector<double> off, const KnownFirst& known) {
  return Confirmer(with, errors, std::move(off), known).run(at_least);
}

bool do_rank(const std::vector<double>& off, const std::vector<UnitError*>& errors, ErrorMetric metric, double least) {
  double noise = 0;
  for (const double one : off) noise += one * one / static_cast<double>(off.size());
  double count = 0, sum = 0, squares = 0;
  for (const UnitError* error : errors)
    if (const double rank = mean_rank(*error, metric); error->status != UnitStatus::kFailed && rank > 0) {
      ++count;
      sum += std::log(rank);
      squares += std::log(rank) * std::log(rank);
    }
  if (count == 0) return true;
  const double both = squares / count - (sum / count) * (sum / count);
  return noise <= (1 - least * least) * both;
}

}  // namespace thaw::measuring
