#include "thaw/sensitivity/confirm_worst.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thaw/sensitivity/attempt.h"

namespace thaw::measuring {
namespace {

constexpr double kWorst = 0.1;       // share of the units that is confirmed
constexpr double kMost = 0.25;       // and with those where the order is in doubt
constexpr double kDeviations = 2;    // within which it is
constexpr double kLeastDoubt = 0.1;  // of the logarithm: few that are confirmed tell little

class Confirmer {
 public:
  Confirmer(const Confirming& with, const std::vector<UnitError*>& errors, std::vector<double> off)
      : with_(with), known_(std::move(off)) {
    for (UnitError* error : errors)
      if (error->status != UnitStatus::kFailed) order_.push_back(error);
  }

  std::vector<double> run(size_t at_least) {
    const double count = static_cast<double>(order_.size());
    const auto worst = static_cast<size_t>(std::ceil(kWorst * count));
    size_t budget = static_cast<size_t>(std::ceil(kMost * count));
    for (bool is_settled = false; !is_settled && budget > 0;) {
      sort();
      is_settled = true;
      for (size_t i = 0; i < worst && i < order_.size() && budget > 0; ++i)
        if (order_[i]->status == UnitStatus::kPredicted) {
          confirm(*order_[i]);
          --budget;
          is_settled = false;
        }
    }
    sort();
    if (worst == 0 || worst > order_.size()) return std::move(off_);
    for (; budget > 0; --budget) {
      sort();
      const double limit = mean_rank(*order_[worst - 1], with_.metric) * std::exp(-doubt());
      const auto next = std::ranges::find(order_, UnitStatus::kPredicted, &UnitError::status);
      if (next == order_.end() || mean_rank(**next, with_.metric) < limit) break;
      confirm(**next);
    }
    const auto confirmed = static_cast<size_t>(
        std::ranges::count(order_, UnitStatus::kMeasured, [](const UnitError* error) { return error->status; }));
    for (size_t i = 0, left = at_least - std::min(at_least, confirmed); i < order_.size() && left > 0; ++i)
      if (order_[i]->status == UnitStatus::kPredicted) {
        confirm(*order_[i]);
        --left;
      }
    return std::move(off_);
  }

 private:
  void sort() {
    std::ranges::stable_sort(order_, [&](const UnitError* a, const UnitError* b) {
      return mean_rank(*a, with_.metric) > mean_rank(*b, with_.metric);
    });
  }

  double doubt() const {
    double squares = 0, count = 0;
    for (const std::vector<double>& some : {off_, known_})
      for (const double off : some) {
        squares += off * off;
        ++count;
      }
    return std::max(kLeastDoubt, kDeviations * std::sqrt(squares / std::max(1.0, count)));
  }

  void confirm(UnitError& error) {
    attempt(error, [&] {
      const Converted converted = with_.conversions.only(with_.units[error.unit], error.precision);
      Candidate candidate(with_.baseline.cut(), *converted.model);
      std::vector<ErrorFigures> figures = with_.baseline.figures(candidate, with_.wanted);
      const double foretold = mean_rank(error, with_.metric);
      error.in = std::move(figures);
      error.status = UnitStatus::kMeasured;
      const double found = mean_rank(error, with_.metric);
      if (foretold > 0 && found > 0) off_.push_back(std::log(found / foretold));
    });
  }

  const Confirming& with_;
  std::vector<UnitError*> order_;
  std::vector<double> off_, known_;  // log(measured / foretold): here, and of others before
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
                                  std::vector<double> off) {
  return Confirmer(with, errors, std::move(off)).run(at_least);
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
