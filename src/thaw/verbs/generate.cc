#include "thaw/generate/generate.h"

namespace thaw {

Generated generate(const std::filesystem::path& folder, const GenerateOptions& options) {
  return generating::generate(folder, options);
}

}  // namespace thaw
