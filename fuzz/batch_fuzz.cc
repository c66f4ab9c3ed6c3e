// Any model batched, in each of the ways that options choose: a thaw::Error, or a model that can be written and read and
// whose nodes run as far as inference can tell; its inputs and outputs are the original's.
#include <cstddef>
#include <cstdint>

#include "model_mutator.h"
#include "verbs.h"

#include "thaw/batch/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thaw;
  const auto model = thaw_fuzz::read_model({data, size});
  if (!model) return 0;
  const int problems = thaw_fuzz::count_problems(*model);
  const std::string original = ir::serialize(*model);
  for (int way = 0; way < 3; ++way) {
    const auto batched = ir::clone(*model);
    ir::begin_run(*batched);
    BatchOptions options;
    options.new_axis = way == 1;
    options.allow_loop = way == 2;
    try {
      batching::batch(*batched, options);
    } catch (const Error&) {
      // What was begun is taken back.
      thaw_fuzz::require(ir::serialize(*batched) == original, "a model that cannot be batched is as it was");
      continue;
    }
    thaw_fuzz::require_inputs(*model, *batched);
    thaw_fuzz::require(batched->graph->outputs().size() == model->graph->outputs().size(), "outputs stay");
    thaw_fuzz::require_sound(*batched, problems);
  }
  return 0;
}

THAW_MUTATES_MODELS
