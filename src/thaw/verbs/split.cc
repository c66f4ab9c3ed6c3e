#include "thaw/split/split.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/divided.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/new_folder.h"
#include "thaw/optimize/optimize.h"
#include "thaw/report/printable.h"
#include "thaw/rewrite/same_noise.h"
#include "thaw/split/cut_off.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

std::vector<ir::Model*> models_of(const std::vector<splitting::Part>& parts) {
  std::vector<ir::Model*> models;
  for (const splitting::Part& part : parts) models.push_back(part.model.get());
  return models;
}

SplitPart summed_up(const splitting::Part& part) {
  SplitPart described;
  for (const ir::Value* input : part.model->graph->inputs()) described.inputs.push_back(input->name());
  described.outputs = part.outputs;
  const optimizing::Weight weight = optimizing::weigh(*part.model->graph);
  described.nodes = weight.nodes;
  described.weight_bytes = weight.bytes;
  return described;
}

void check_parts(const std::vector<splitting::Part>& parts, const ir::Model& whole, const FeedOptions& feeds,
                 SplitReport& report) {
  const std::unique_ptr<ir::Model> own = rewrite::with_same_noise(whole);
  std::vector<std::unique_ptr<ir::Model>> same(parts.size());  // of parts that draw numbers
  std::vector<const ir::Model*> chain;
  for (size_t i = 0; i < parts.size(); ++i) chain.push_back(&rewrite::with_same_noise(*parts[i].model, same[i]));
  confirm::AgainstReference compared = confirm::compare_parts(chain, *own, feeds);
  report.checks = std::move(compared.checks);
  report.not_compared = std::move(compared.not_compared);
  for (size_t i = 0; i < parts.size(); ++i) chain[i] = parts[i].model.get();
  report.proof = verbs::prove_parts(chain, whole, report.checks);
}

std::filesystem::path path_of_part(const std::filesystem::path& folder, size_t number) {
  return folder / fmt::format("part_{}.onnx", number);
}

// Parts of an earlier split would follow the last one, as if they were of this.
void require_no_more(const std::filesystem::path& folder, size_t parts) {
  std::error_code ignored;
  const std::filesystem::path next = path_of_part(folder, parts + 1);
  if (folder.empty() || !std::filesystem::exists(next, ignored)) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("it is there already, and this split has {}", report::counted(parts, "part")),
               .where = next.string(),
               .expected = "a folder without parts of another split",
               .next = "remove them, or name another folder"});
}

verbs::Published write_parts(const std::vector<ir::Model*>& parts, const Output& output, const verbs::Trial& trial) {
  std::vector<std::filesystem::path> paths(parts.size());
  const NewFolder made(output.path);
  for (size_t i = 0; i < parts.size() && !output.path.empty(); ++i) paths[i] = path_of_part(output.path, i + 1);
  Output together = output;
  together.save.location = "shared.data";
  return verbs::publish_together(parts, paths, together, trial);
}

// The part before the tensors that the model is to end at.
Split cut_off(const ir::Model& whole, const SplitOptions& options, const FeedOptions& feeds, const Output& output) {
  if (!options.at.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "outputs and cuts are both given",
                                              .where = "split",
                                              .expected = "one of the two",
                                              .next = "leave one out"});
  splitting::CutOff made = splitting::cut_off(whole, options.outputs);
  verbs::require_output(whole, output);
  verbs::require_renames(*made.model, output);
  Split result;
  SplitReport& report = result.report;
  report.model = whole.path.string();
  report.is_checked = options.check;
  std::vector<splitting::Part> parts(1);
  parts.front() = {.model = std::move(made.model), .outputs = std::move(made.outputs)};
  report.parts.push_back(summed_up(parts.front()));
  if (options.check) check_parts(parts, *made.reference, feeds, report);
  ir::Model& part = *parts.front().model;
  verbs::keep_proof(part, whole, report.proof);
  if (report.accepted()) verbs::publish(part, output, {.original = &whole, .is_checked = options.check}).tell(report);
  result.parts.push_back(ModelAccess::make(std::move(parts.front().model)));
  return result;
}

}  // namespace

bool SplitReport::accepted() const {
  return confirm::all_agree(checks) && (!is_checked || !checks.empty()) && !load_check.has_failed();
}

Split split(const Model& model, const SplitOptions& options, const Output& output) {
  const CallClock clock;
  const ir::Model& whole = ModelAccess::begin(model);
  const FeedOptions feeds = verbs::with_files(options.feeds, whole);
  if (!options.outputs.empty()) return cut_off(whole, options, feeds, output);
  splitting::Result divided = splitting::split(whole, options);
  const std::vector<ir::Model*> parts = models_of(divided.parts);
  require_no_more(output.path, parts.size());
  verbs::require_renames(parts, output);
  Split result;
  SplitReport& report = result.report;
  report.model = whole.path.string();
  report.is_checked = options.check;
  report.crossing_tensors = std::move(divided.carried);
  for (const splitting::Part& part : divided.parts) report.parts.push_back(summed_up(part));
  if (options.check) check_parts(divided.parts, whole, feeds, report);
  if (report.accepted()) {
    for (ir::Model* part : parts) verbs::keep_proof(*part, whole, report.proof);
    write_parts(parts, output, {.original = &whole, .is_checked = options.check}).tell(report);
  }
  for (splitting::Part& part : divided.parts) result.parts.push_back(ModelAccess::make(std::move(part.model)));
  return result;
}

std::vector<CutPoint> cut_points(const Model& model, const NamedSizes& sizes) {
  return splitting::cut_points(ModelAccess::begin(model), sizes);
}

}  // namespace thaw
