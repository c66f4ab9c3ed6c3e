#include "thaw/generate/generate.h"

#include "thaw/core/call_clock.h"

namespace thaw {

Generated generate(const std::filesystem::path& folder, const GenerateOptions& options) {
  const CallClock clock;
  return generating::generate(folder, options);
}

}  // namespace thaw
