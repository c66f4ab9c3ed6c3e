#include "thaw/pin/pin.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/pinned.h"
#include "thaw/core/ascii.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/new_folder.h"
#include "thaw/optimize/optimize.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/same_noise.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

// One of the models that are asked for.
struct PinnedOne {
  std::unique_ptr<ir::Model> model;
  Arrays given;  // inputs that became constants
  PinReport report;
};

// Whether all that is fed declares its sizes as numbers.
bool has_fixed_inputs(const ir::Model& model) {
  return std::ranges::all_of(model.graph->inputs(), [](const ir::Value* input) {
    return input->initializer() ||
           (input->type.kind == ir::Type::Kind::kTensor && input->type.shape &&
            std::ranges::all_of(*input->type.shape, [](const ir::DeclaredDim& dim) { return dim.value > 0; }));
  });
}

// A model without free sizes may be meant as it is: what follows from them is folded.
void require_something_to_pin(const PinOptions& how, const ir::Model& model) {
  if (!how.sizes.empty() || !how.values.values.empty() || !how.values.arrays.empty() || has_fixed_inputs(model)) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "nothing to pin is given",
               .where = "thaw pin",
               .expected = "--sizes 'height=336,width=336', or --values 'grid_thw=1,24,24'",
               .next = "`thaw inspect` lists the inputs and their sizes"});
}

PinnedOne pin_unchecked(const ir::Model& original, const PinOptions& options) {
  PinnedOne made{.model = ir::clone(original), .given = {}, .report = {}};
  PinReport& report = made.report;
  report.model = original.path.string();
  report.sizes = options.sizes;
  report.is_checked = options.check;
  report.overridable_initializers = rewrite::count_replaceable(original);
  report.nodes_before = optimizing::weigh(*original.graph).nodes;
  pinning::Pinned pinned = pinning::pin(*made.model, options);
  report.changed = std::move(pinned.changes.made);
  report.dynamic_axes = std::move(pinned.open);
  report.nodes_after = optimizing::weigh(*made.model->graph).nodes;
  made.given = std::move(pinned.given);
  return made;
}

void check_pinned(PinnedOne& made, const ir::Model& original, const FeedOptions& feeds) {
  const std::unique_ptr<ir::Model> own = rewrite::with_same_noise(original);
  std::unique_ptr<ir::Model> same;
  const ir::Model& result = rewrite::with_same_noise(*made.model, same);
  confirm::AgainstReference compared =
      confirm::compare_pinned(result, *own, made.given, verbs::with_files(feeds, *made.model));
  made.report.checks = std::move(compared.checks);
  made.report.not_compared = std::move(compared.not_compared);
  made.report.proof = verbs::prove_pinned(*made.model, original, made.given, made.report.checks);
}

// "vision.onnx" at height=336,width=448: "vision_height-336_width-448.onnx".
std::filesystem::path path_with_sizes(const std::filesystem::path& output, const NamedSizes& sizes) {
  std::string name = output.stem().string();
  for (const auto& [size, number] : sizes) {
    name += '_';
    for (const char c : size) name += (ascii::is_letter_or_digit(static_cast<unsigned char>(c)) || c == '.') ? c : '-';
    name += fmt::format("-{}", number);
  }
  return output.parent_path() / (name + output.extension().string());
}

// Where each is written; empty paths where none is.
std::vector<std::filesystem::path> paths_of(const std::vector<PinOptions>& options,
                                            const std::filesystem::path& output) {
  if (options.size() == 1 || output.empty()) return std::vector<std::filesystem::path>(options.size(), output);
  std::vector<std::filesystem::path> paths;
  for (const PinOptions& how : options) {
    const std::filesystem::path path = path_with_sizes(output, how.sizes);
    if (std::ranges::find(paths, path) != paths.end()) {
      std::string sizes;
      for (const auto& [name, number] : how.sizes)
        sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", name, number);
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "two --sizes ask for the same sizes", .where = sizes, .expected = "other sizes in each"});
    }
    paths.push_back(path);
  }
  return paths;
}

verbs::Published write_pinned(const std::vector<ir::Model*>& results, const std::vector<std::filesystem::path>& paths,
                              const Output& output, const verbs::Trial& trial) {
  const NewFolder made(output.path.parent_path());
  if (results.size() == 1) return verbs::publish(*results.front(), output, trial);
  Output together = output;
  together.save.location = output.path.filename().string() + ".data";
  return verbs::publish_together(results, paths, together, trial);
}

// All of them, or none: `made` is handed over where all are accepted.
PinnedModels pin_all(const ir::Model& original, const std::vector<PinOptions>& options, const Output& output,
                     std::vector<std::unique_ptr<ir::Model>>& accepted) {
  const CallClock clock;
  const std::vector<std::filesystem::path> paths = paths_of(options, output.path);
  if (!options.empty()) require_something_to_pin(options.front(), original);
  std::vector<PinnedOne> made;
  std::vector<ir::Model*> results;
  for (size_t i = 0; i < options.size(); ++i) {
    Output where = output;
    where.path = paths[i];
    verbs::require_output(original, where);
    PinnedOne& one = made.emplace_back(pin_unchecked(original, options[i]));
    one.report.output = paths[i].string();
    results.push_back(one.model.get());
  }
  verbs::require_renames(results, output);
  PinnedModels all{.model = original.path.string(), .files = {}, .load_check = {}, .reports = {}};
  for (size_t i = 0; i < made.size(); ++i) {
    if (options[i].check) check_pinned(made[i], original, options[i].feeds);
    verbs::keep_proof(*made[i].model, original, made[i].report.proof);
    all.reports.push_back(std::move(made[i].report));
  }
  if (!all.accepted()) return all;
  write_pinned(results, paths, output, {.original = &original, .is_checked = options.front().check}).tell(all);
  if (!all.accepted()) return all;
  for (PinnedOne& one : made) accepted.push_back(std::move(one.model));
  return all;
}

}  // namespace

bool PinReport::accepted() const {
  return confirm::all_agree(checks) && (!is_checked || !checks.empty()) && !load_check.has_failed();
}

bool PinnedModels::accepted() const {
  return std::ranges::all_of(reports, &PinReport::accepted) && !load_check.has_failed();
}

PinReport pin(Model& model, const PinOptions& options, const Output& output) {
  std::vector<std::unique_ptr<ir::Model>> accepted;
  PinnedModels one = pin_all(ModelAccess::begin(model), {options}, output, accepted);
  if (!accepted.empty()) ModelAccess::owner(model) = std::move(accepted.front());
  one.reports.front().files = std::move(one.files);
  one.reports.front().load_check = std::move(one.load_check);
  return std::move(one.reports.front());
}

PinnedModels pin_each(const Model& model, const std::vector<PinOptions>& options, const Output& output) {
  std::vector<std::unique_ptr<ir::Model>> accepted;
  return pin_all(ModelAccess::begin(model), options, output, accepted);
}

}  // namespace thaw
