#include "thaw/model/build.h"

#include <string_view>
#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/verbs/for_target.h"
#include "thaw/verbs/output.h"

namespace thaw {
namespace {

std::string_view target_name(BuildTarget target) {
  switch (target) {
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
      [&](const ir::Model& part) { return verbs::unsupported_by(part, target_name(options.target)); });
}

}  // namespace

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
