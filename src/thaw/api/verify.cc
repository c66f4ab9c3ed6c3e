#include "thaw/run/verify.h"

#include <memory>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/ops/rule/arity.h"

namespace thaw {

VerifyReport verify(const VerifyOptions& options) {
  dim::Scope scope;
  run::VerifiedModel model;
  {
    const auto loaded = ir::load(options.model);  // its mapping is not needed while ONNX Runtime runs
    ops::require_arity(*loaded);
    std::error_code failed;
    const bool is_model =
        options.reference.extension() != ".npz" && !std::filesystem::is_directory(options.reference, failed);
    const std::unique_ptr<ir::Model> reference = is_model ? ir::load(options.reference) : nullptr;
    if (reference) ops::require_arity(*reference);
    run::prepare_sessions();
    confirm::ModelInputs known = confirm::look_at_inputs(*loaded, scope);
    model.inputs = std::move(known.inputs);
    model.conditions = std::move(known.conditions);
    model.cost = confirm::cost_of_runs(*loaded, known.facts);
    if (reference) confirm::add_origin(model.cost, *reference, *loaded, scope);
  }
  model.frozen_sizes = [&] { return confirm::own_input_sizes(*ir::load(options.model), model.inputs, scope); };
  return run::verify(options, model, scope);
}

}  // namespace thaw
