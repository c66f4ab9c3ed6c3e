#include "thaw/sensitivity/baseline.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/sensitivity/figures.h"

namespace thaw::measuring {
namespace {

ErrorFigures require(std::optional<ErrorFigures> figures, size_t sample) {
  if (!figures)
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = fmt::format("an output has a NaN or an infinity, or another shape, on sample {}", sample),
                 .where = "the converted model"});
  return *figures;
}

}  // namespace

Arrays Baseline::outputs(size_t sample, const std::vector<std::string>& names) const {
  Arrays outputs;
  for (const std::string& name : names)
    if (cut_.kept().has(sample, name)) outputs.emplace(name, cut_.kept().get(sample, name));
  return outputs;
}

ErrorFigures Baseline::own_figures(size_t sample, const Arrays& wanted) const {
  Arrays got;
  for (const auto& [name, array] : wanted)
    if (cut_.kept().has(sample, name)) got.emplace(name, cut_.kept().get(sample, name));
  return require(figures_of(wanted, got), sample);
}

ErrorFigures Baseline::figures(WholeModel& whole, size_t sample, const Arrays& wanted) const {
  return require(figures_of(wanted, whole.run(cut_.kept(), sample)), sample);
}

ErrorFigures Baseline::figures(Candidate& candidate, size_t sample, const Arrays& wanted) {
  try {
    return figures_behind(candidate, sample, candidate.run(sample), wanted);
  } catch (const run::HeldArrayLost&) {  // another model has ended the process: once more in the next
    return figures_behind(candidate, sample, candidate.run(sample), wanted);
  }
}

std::vector<ErrorFigures> Baseline::figures(Candidate& candidate, const Wanted& wanted) {
  std::vector<ErrorFigures> all(wanted.size());
  candidate.open();
  slots_.each(wanted.size(), [&](size_t i) { all[i] = figures(candidate, i, wanted[i]); });
  return all;
}

ErrorFigures Baseline::figures_behind(const Candidate& candidate, size_t sample, run::Values changed,
                                      const Arrays& wanted) {
  cut_.run(sample, candidate.tail(), sections(), changed);
  return require(compared(sample, changed, wanted), sample);
}

std::vector<std::optional<ErrorFigures>> Baseline::figures_behind(size_t tail, size_t sample,
                                                                  std::vector<run::Values> changed,
                                                                  const Arrays& wanted) {
  cut_.run_together(sample, tail, sections(), changed);
  std::vector<std::optional<ErrorFigures>> figures;
  for (run::Values& one : changed) figures.push_back(compared(sample, one, wanted));
  return figures;
}

std::optional<ErrorFigures> Baseline::compared(size_t sample, run::Values& changed, const Arrays& wanted) const {
  Arrays got;
  for (const auto& [name, array] : wanted) {
    if (const auto at = changed.arrays.find(name); at != changed.arrays.end()) {
      got.emplace(name, std::move(at->second));
    } else if (cut_.kept().has(sample, name)) {
      got.emplace(name, cut_.kept().get(sample, name));
    }
  }
  return figures_of(wanted, got);
}

}  // namespace thaw::measuring
