// Formulas: Ba et al., "Layer Normalization"; Zhang and Sennrich, "Root Mean Square Layer Normalization".
#include "thaw/optimize/norm_patterns.h"

namespace thaw::optimizing {
namespace {

using rewrite::any;
using rewrite::any_number;
using rewrite::either;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;
using rewrite::power;

const Pattern kData = any("x");

Pattern reduction(std::string_view op, const Pattern& x, std::string_view name) {
  return op_of({op}, {x}).with("keepdims", 1).named(name);
}

Pattern mean_of(const Pattern& x, std::string_view name, MeansBy means) {
  Pattern mean = reduction("ReduceMean", x, name);
  if (means == MeansBy::kMeans) return mean;
  return either({mean, reduction("ReduceSum", x, name) * any_number(std::string(name) + " share")});
}

Pattern mean_square_of(const Pattern& x, MeansBy means) {
  Pattern mean = mean_of(power(x, 2), "variance", means);
  const Pattern share = any_number("variance share");
  if (means == MeansBy::kMeans) return mean;
  return either({mean, reduction("ReduceSumSquare", x, "variance") * share,
                 power(reduction("ReduceL2", x, "variance"), 2) * share});
}

struct Moments {
  Pattern mean, centred, deviation;

  explicit Moments(MeansBy means)
      : mean(mean_of(kData, "mean", means)),
        centred((kData - mean).named("centred")),
        deviation(rewrite::sqrt(variance(means) + any_number("epsilon"))) {}

 private:
  Pattern variance(MeansBy means) const {
    const Pattern difference = mean_square_of(kData, means) - power(mean, 2);
    return either({mean_square_of(centred, means), mean_square_of(kData - mean, means),
                   mean_square_of(mean - kData, means), difference, op("Max", {difference, 0}),
                   op("Relu", {difference})});
  }
};

}  // namespace

Pattern standardized(MeansBy means) {
  const Moments moments(means);
  return moments.centred / moments.deviation;
}

Pattern standardized_by_moments(MeansBy means) {
  const Moments moments(means);
  const Pattern inverse = either({any("weight") / moments.deviation, 1 / moments.deviation}).named("inverse");
  return either({kData * inverse + any("bias") - moments.mean * inverse, kData * inverse - moments.mean * inverse});
}

Pattern scaled_by_root_mean_square() {
  const Pattern of = mean_square_of(either({kData, op("Abs", {kData})}), MeansBy::kMeansOrSums);
  return kData / rewrite::sqrt(of + any_number("epsilon"));
}

}  // namespace thaw::optimizing
