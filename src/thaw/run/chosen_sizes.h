// Sizes that nobody named, one choice after the other, for whoever runs a model to find some that it runs at.
//
//   run::ChosenSizes choice(feeder, scope, conditions, cost, base);
//   while (auto point = choice.next()) choice.tell(runs_at(*point));
//
// Small distinct primes come first, times what strides and patches divide; then longer ones, as a recording needs
// thousands of samples before anything comes out of a model; and each also with one sample where a batch is free. What
// the model demands of its sizes is made to hold where that can be done. Sizes at which a run would take much memory or
// time come last, the cheapest first, and only while the model has run at no others. Once it has run, there are points
// for so much work alone: no clock is asked, so that the same are tried every time. The choice depends on the model
// and, of sizes that are past it, on the memory that is left.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/run/feeds.h"
#include "thaw/run/run_cost.h"
#include "thaw/run/size_conditions.h"
#include "thaw/run/sweep.h"

namespace thaw::run {

class ChosenSizes {
 public:
  // The points that follow have the sizes of `base`. What is referred to must outlive this.
  // `round`: of several choices for one model, which; each begins with other sizes.
  ChosenSizes(const Feeder& feeder, const dim::Scope& scope, const SizeConditions& conditions, const RunCost& cost,
              const Point& base, size_t round = 0);

  // False where `base` leaves nothing open.
  bool has_choice() const { return !free_.empty(); }

  // Another point, none twice and none whose inputs are large; nullopt after the last.
  std::optional<Point> next();
  // Whether the model ran at the last point: where it does not, sizes of another scale are tried soon.
  void tell(bool runs);
  // Why sizes were passed over; empty where none were.
  const std::string& too_large() const { return too_large_; }

  // The scale that the last point is of, to begin with where another choice for the same model is made.
  size_t scale() const { return scale_; }
  void begin_with(size_t scale);

  // `base` with these sizes where it has none, and the rest chosen: for sizes that are known to matter. nullopt where
  // the inputs would be large.
  std::optional<Point> with(const Point& known) const;

 private:
  enum class Mode : uint8_t { kDistinct, kOneSample, kEqual };
  struct Plan {
    Scale scale;
    Mode mode;
    size_t index;
  };

  struct Costly {
    RunCost::Taken taken;
    Point point;
    size_t scale;
  };

  std::optional<Point> next_small();
  std::optional<Point> next_costly();
  RunCost::Taken taken_at(const Point& point) const;
  Point choose(const Point& base, const Plan& plan, size_t round) const;
  void fit(Point& point, const Point& base) const;

  const Feeder& feeder_;
  const dim::Scope& scope_;
  const SizeConditions& conditions_;
  const RunCost& cost_;
  Point base_;
  std::vector<FreeSymbol> free_;
  std::vector<std::string> values_;  // elements of inputs that conditions name and nobody gave
  std::vector<Plan> plans_;
  size_t first_round_;
  size_t plan_ = 0, round_ = 0, failed_ = 0, scale_ = 0;
  std::vector<Point> seen_;
  std::vector<Costly> costly_;  // the cheapest last, once all others were tried
  double work_ = 0;             // of the points since the model has run
  bool has_run_ = false, is_sorted_ = false;
  std::string too_large_;
};

}  // namespace thaw::run
