#include "thaw/batch/batch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/samples.h"
#include "thaw/core/call_clock.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/run/session.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

std::string type_and_dims(const ir::Type& type) {
  return fmt::format("{}{}", ir::name_of(type.elem_type), ir::dims_text(type));
}

std::vector<BatchedPort> batched_ports(const ir::Model& before, const ir::Model& after) {
  std::vector<BatchedPort> ports;
  for (const ir::Value* input : before.graph->inputs())
    if (input->initializer() == nullptr) ports.push_back({true, input->name(), type_and_dims(input->type), {}});
  for (const ir::Value* output : before.graph->outputs())
    ports.push_back({false, output->name(), type_and_dims(output->type), {}});
  for (BatchedPort& port : ports) {
    const ir::Value* value = after.graph->find(port.name);
    if (value && (port.is_input ? value->is_input() : value->is_output())) port.after = type_and_dims(value->type);
  }
  return ports;
}

}  // namespace

bool BatchReport::accepted() const {
  return not_compared.empty() && confirm::all_agree(checks) && !load_check.has_failed();
}

BatchReport batch(Model& model, const BatchOptions& options, const Output& output) {
  const CallClock clock;
  const ir::Model& given = ModelAccess::begin(model);
  verbs::require_output(given, output);
  if (options.check) run::prepare_sessions();
  std::unique_ptr<ir::Model> batched = ir::clone(given);
  BatchReport report = batching::batch(*batched, options);
  report.model = given.path.string();
  report.output = output.path.string();
  report.is_checked = options.check;
  report.overridable_initializers = rewrite::count_replaceable(given);
  report.ports = batched_ports(given, *batched);
  verbs::require_renames(*batched, output);
  if (options.check) {
    confirm::BatchCheck check =
        confirm::compare_with_samples(*batched, given, options, verbs::with_files(options.feeds, given));
    report.checks = std::move(check.runs);
    if (!check.reason.empty()) report.not_compared = {std::move(check.reason)};
    report.samples = check.samples;
    if (report.not_compared.empty()) report.proof = verbs::prove_batched(*batched, given, options.name, report.checks);
  }
  if (!report.accepted()) {
    report.data_dependent_branches = batching::deciding_inputs(given, options);
    return report;
  }
  proving::forget_proof(*batched);
  verbs::publish(*batched, output, {.original = &given, .is_checked = options.check}).tell(report);
  if (!report.accepted()) return report;
  ModelAccess::owner(model) = std::move(batched);
  return report;
}

}  // namespace thaw
