// Sizes that nobody named, one choice after the other, for whoever runs a model to find some that it runs at.
//
//   run::ChosenSizes choice(feeder, scope, conditions, base);
//   while (auto point = choice.next()) choice.tell(runs_at(*point));
//
// Small distinct primes come first, times what strides and patches divide; then longer ones, as a recording needs
// thousands of samples before anything comes out of a model; and each also with one sample where a batch is free. What
// the model demands of its sizes is made to hold where that can be done. The choice depends on the model alone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "thaw/run/feeds.h"
#include "thaw/run/size_conditions.h"
#include "thaw/run/sweep.h"

namespace thaw::run {

class ChosenSizes {
 public:
  // The points that follow have the sizes of `base`. Feeder and scope must outlive this.
  // `round`: of several choices for one model, which; each begins with other sizes.
  ChosenSizes(const Feeder& feeder, const dim::Scope& scope, const SizeConditions& conditions, const Point& base,
              size_t round = 0);

  // False where `base` leaves nothing open.
  bool has_choice() const { return !free_.empty(); }

  // Another point, none twice and none whose inputs are large; nullopt after the last.
  std::optional<Point> next();
  // Whether the model ran at the last point: where it does not, sizes of another scale are tried soon.
  void tell(bool runs);

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

  Point choose(const Point& base, const Plan& plan, size_t round) const;
  void fit(Point& point, const Point& base) const;

  const Feeder& feeder_;
  const dim::Scope& scope_;
  const SizeConditions& conditions_;
  Point base_;
  std::vector<FreeSymbol> free_;
  std::vector<std::string> values_;  // elements of inputs that conditions name and nobody gave
  std::vector<Plan> plans_;
  size_t first_round_;
  size_t plan_ = 0, round_ = 0, failed_ = 0, scale_ = 0;
  std::vector<Point> seen_;
};

}  // namespace thaw::run
