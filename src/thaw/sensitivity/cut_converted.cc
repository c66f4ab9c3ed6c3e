#include "thaw/sensitivity/cut_converted.h"

#include <algorithm>
#include <cmath>

#include "thaw/quant/candidates.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/sound_cut.h"

namespace thaw::measuring {

std::unique_ptr<Baseline> cut_converted(const ir::Model& converted, size_t sections, const KeptSamples& samples,
                                        const std::vector<ErrorFigures>& figures) {
  constexpr double kSame = 1e-7;
  const size_t count = samples.wanted().size();
  const auto keep = [&](Baseline& cut, size_t first) {
    std::vector<char> are_same(count, 1);
    samples.keep_in(cut, first, [&](size_t i) {
      const double whole = figures[i].noise, here = cut.own_figures(i, samples.wanted()[i]).noise;
      are_same[i] = std::abs(here - whole) <= kSame * whole;
    });
    return std::ranges::all_of(are_same, [](char same) { return same != 0; });
  };
  std::unique_ptr<Baseline> cut = cut_soundly(converted, sections, count, samples.memory(), samples.feeds(0));
  if (keep(*cut, 1)) return cut;
  cut.reset();
  cut = std::make_unique<Baseline>(ir::clone(converted), 1, count, samples.memory());
  keep(*cut, 0);
  return cut;
}

bool rounds_by_layout(const ir::Model& model, const PrecisionOptions& precision) {
  const auto is_convolution = [](const ir::Node* node) {
    return std::ranges::any_of(quantizing::weights_of(*node),
                               [](const ir::Value* weight) { return weight->constant()->dims.size() > 2; });
  };
  return quantizing::is_int8(precision.to) && std::ranges::any_of(model.graph->nodes(), is_convolution);
}

}  // namespace thaw::measuring
