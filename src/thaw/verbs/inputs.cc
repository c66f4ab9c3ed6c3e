#include "thaw/inputs.h"

#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/media/input_maker.h"
#include "thaw/run/npz.h"

namespace thaw {

PreparedInputs inputs(std::span<const std::filesystem::path> files, const InputsOptions& options,
                      const std::filesystem::path& output) {
  const CallClock clock;
  if (!output.empty() && output.extension() != ".npz")
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "the inputs are several arrays", .where = output.string(), .expected = "a name that ends in .npz"});
  PreparedInputs made = media::InputMaker(options).make(files);
  if (!output.empty()) run::write_npz_file(output, made.arrays);
  made.output = output.string();
  return made;
}

}  // namespace thaw
