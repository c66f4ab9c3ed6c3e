#include "thaw/inputs.h"

#include "thaw/media/input_maker.h"

namespace thaw {

PreparedInputs inputs(std::span<const std::filesystem::path> files, const InputsOptions& options) {
  return media::InputMaker(options).make(files);
}

}  // namespace thaw
