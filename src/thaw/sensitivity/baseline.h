// A model whose changes are measured, and what its outputs are held against.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thaw/sensitivity.h"
#include "thaw/sensitivity/candidate.h"
#include "thaw/sensitivity/cut_model.h"
#include "thaw/sensitivity/whole_model.h"
#include "thaw/sensitivity/worker_slots.h"

namespace thaw::measuring {

// By sample: the outputs that are compared, of the float32 model.
using Wanted = std::vector<Arrays>;

class Baseline {
 public:
  // samples: how many there will be about. cuts: of the cut points for so many sections, those in use; none: all of them.
  Baseline(std::unique_ptr<ir::Model> model, size_t sections, size_t samples, CachedArrays::Memory& memory,
           const std::optional<std::set<size_t>>& cuts = {})
      : slots_(samples), cut_(std::move(model), sections, slots_.threads(), memory, cuts) {}

  // In which its sessions and its candidates' run.
  const WorkerSlots& slots() const { return slots_; }
  CutModel& cut() { return cut_; }
  const SessionOptions& session_options() const { return cut_.session_options(); }
  size_t sections() const { return cut_.sections().size(); }
  void keep(size_t sample, const Arrays& feeds) { cut_.keep(sample, feeds); }
  // Those of `names` as they were kept.
  Arrays outputs(size_t sample, const std::vector<std::string>& names) const;

  // Of the model as it is, and of one that was made of it. Throws thaw::Error (kRuntimeFailed) where an output has a NaN or an
  // infinity that `wanted` has not.
  ErrorFigures own_figures(size_t sample, const Arrays& wanted) const;
  ErrorFigures figures(WholeModel& whole, size_t sample, const Arrays& wanted) const;
  ErrorFigures figures(Candidate& candidate, size_t sample, const Arrays& wanted);
  std::vector<ErrorFigures> figures(Candidate& candidate, const Wanted& wanted);  // of all samples
  // From what the candidate makes of the section that it changes on. The second of several candidates that change the same
  // values there, which go on together; nullopt for one whose outputs are as the others throw for.
  ErrorFigures figures_behind(const Candidate& candidate, size_t sample, run::Values changed, const Arrays& wanted);
  std::vector<std::optional<ErrorFigures>> figures_behind(size_t tail, size_t sample, std::vector<run::Values> changed,
                                                          const Arrays& wanted);

 private:
  std::optional<ErrorFigures> compared(size_t sample, run::Values& changed, const Arrays& wanted) const;

  const WorkerSlots slots_;
  CutModel cut_;
};

}  // namespace thaw::measuring
