#include "thaw/model/build.h"

#include "thaw/verbs/output.h"

namespace thaw {

BuildReport build(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                  const BuildOptions& options) {
  return model::build(
      model::Checkpoint::open(checkpoint), folder, options,
      [&](const ir::Model& model, const std::filesystem::path& path, ir::Staged& staged) {
        return verbs::try_staged(model, staged, 0, path, {.original = nullptr, .is_checked = options.load});
      });
}

}  // namespace thaw
