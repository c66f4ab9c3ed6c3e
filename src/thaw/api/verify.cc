#include "thaw/run/verify.h"

#include <memory>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/confirm/same_noise.h"
#include "thaw/ops/rule/arity.h"

namespace thaw {

namespace {

constexpr std::string_view kSameNoise =
    "the numbers that a model draws were the same on both sides, told by their places";

run::Session open_with_same_noise(const std::filesystem::path& path, const SessionOptions& how) {
  return run::Session(*confirm::with_same_noise(*ir::load(path)), how);
}

}  // namespace

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
    if (reference && (confirm::draws_numbers(*loaded) || confirm::draws_numbers(*reference)))
      model.open = open_with_same_noise;
  }
  model.frozen_sizes = [&] { return confirm::own_input_sizes(*ir::load(options.model), model.inputs, scope); };
  VerifyReport report = run::verify(options, model, scope);
  if (model.open) report.notes.emplace_back(kSameNoise);
  return report;
}

}  // namespace thaw
