// Any model optimized, in another opset, and split: a thaw::Error, or models that can be written and read, with the
// inputs and outputs that they should have. Nothing is folded by running it.
#include <cstddef>
#include <cstdint>

#include "model_mutator.h"
#include "verbs.h"

#include "thaw/optimize/optimize.h"
#include "thaw/split/split.h"

namespace {

using namespace thaw;

void optimize(const ir::Model& model, OptimizeTarget target, int64_t opset) {
  const auto optimized = ir::clone(model);
  ir::begin_run(*optimized);
  OptimizeOptions options;
  options.target = target;
  options.opset = opset;
  options.skip = {"fold"};
  try {
    optimizing::optimize(*optimized, options);
  } catch (const Error&) {
    return;
  }
  thaw_fuzz::require_inputs(model, *optimized);
  thaw_fuzz::require(optimized->graph->outputs().size() == model.graph->outputs().size(), "outputs stay");
  thaw_fuzz::require_sound(*optimized, -1);
}

void split(const ir::Model& model) {
  ir::begin_run(model);
  SplitOptions options;
  options.parts = 2;
  try {
    for (const splitting::Part& part : splitting::split(model, options).parts)
      thaw_fuzz::require_sound(*part.model, -1);
    static_cast<void>(splitting::cut_points(model, {}));
  } catch (const Error&) {  // no place for a cut
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = thaw_fuzz::read_model({data, size});
  if (!model) return 0;
  optimize(*model, OptimizeTarget::kOrt, 0);
  optimize(*model, OptimizeTarget::kPortable, 23);
  optimize(*model, OptimizeTarget::kDirectml, 0);
  split(*model);
  return 0;
}

THAW_MUTATES_MODELS
