#include "thaw/model/build.h"

namespace thaw {

BuildReport build(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                  const BuildOptions& options) {
  return model::build(model::Checkpoint::open(checkpoint), folder, options);
}

}  // namespace thaw
