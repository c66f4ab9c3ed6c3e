#include "thaw/model/build.h"

#include <string_view>
#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/verbs/for_target.h"
#include "thaw/verbs/output.h"

namespace thaw {
namespace {

std::string_view target_name(const BuildOptions& options) {
  if (!options.backend.empty()) return options.backend;
  switch (options.target) {
    case BuildTarget::kPortable:
      return "portable";
    case BuildTarget::kOrt:
      return "ort";
    case BuildTarget::kDirectMl:
      return "directml";
  }
  return "portable";
}

BuildReport build_all(model::Checkpoint checkpoint, const std::filesystem::path& folder, const BuildOptions& options) {
  return model::build(
      std::move(checkpoint), folder, options,
      [&](const ir::Model& model, const std::filesystem::path& path, ir::Staged& staged) {
        return verbs::try_staged(model, staged, 0, path, {.original = nullptr, .is_checked = options.load});
      },
      [&](const ir::Model& part) { return verbs::verdict_of(part, target_name(options)); });
}

}  // namespace

void set_target(const std::string& name, BuildOptions& options) {
  OptimizeOptions chosen;
  set_target(name, chosen);
  options.target = chosen.target == OptimizeTarget::kOrt        ? BuildTarget::kOrt
                   : chosen.target == OptimizeTarget::kDirectml ? BuildTarget::kDirectMl
                                                                : BuildTarget::kPortable;
  options.backend = chosen.backend;
}

bool BuildReport::accepted() const { return !files.empty() && unsupported.empty(); }

BuildReport build(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                  const BuildOptions& options) {
  const CallClock clock;
  return build_all(model::Checkpoint::open(checkpoint), folder, options);
}

BuildReport build(const CheckpointInMemory& checkpoint, const std::filesystem::path& folder,
                  const BuildOptions& options) {
  const CallClock clock;
  return build_all(model::Checkpoint::in_memory(checkpoint), folder, options);
}

}  // namespace thaw
