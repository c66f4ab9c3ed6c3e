// A model with some nodes converted, run as far as it differs from the model that it was made of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/cut_model.h"

namespace thaw::measuring {

// From the first section with a change to the last: all that must run anew. Sections behind it are the base's own.
class Candidate {
 public:
  // `model` has the base's inputs and outputs; where it computes the same, it may name it otherwise.
  Candidate(const CutModel& base, const ir::Model& model);

  // Whether it computes anything else than the base.
  bool is_changed() const { return !outputs_.empty(); }
  // The first section that is as the base has it, and all behind it are.
  size_t tail() const { return tail_; }

  // Their names: values that pass into the tail, and outputs, as far as they differ.
  const std::vector<std::string>& outputs() const { return outputs_; }
  // Starts the session, which the first run does where nobody did: not from several threads.
  void open();
  // Once it is open, from several threads: what the tail is fed stays where it is computed (CutModel::stays), or all comes here.
  run::Values run(size_t sample);
  Arrays run_here(size_t sample);
  // Ends the session; the next run starts another.
  void release() { session_.reset(); }

 private:
  Arrays feeds(size_t sample);

  const CutModel& base_;
  std::vector<std::string> outputs_;
  std::unique_ptr<ir::Model> part_;
  std::optional<run::Session> session_;
  size_t tail_ = 0;
};

}  // namespace thaw::measuring
