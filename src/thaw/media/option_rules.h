// Which of the options that make inputs go together: what nothing would read is refused, not left out.
#pragma once

#include <string>
#include <string_view>

#include "thaw/inputs.h"
#include "thaw/media/image_model.h"
#include "thaw/media/preset.h"

namespace thaw::media {

// Where --for says what the files are for: no option that describes images for any model. Throws thaw::Error
// (kInvalidArgument), as all below.
void refuse_image_model_options(const InputsOptions& options);
// Nor one that the family has no use for.
void require_options_of(const Preset& preset, const InputsOptions& options);
// Where a model's input says it: none that goes with --for, and none that does nothing to images of that input.
void refuse_preset_options(const InputsOptions& options);
void require_options_of(const ImageInput& input, const InputsOptions& options);

// The settings with the bounds on pixels that the options give. Bounds of a checkpoint's files may cross, as in transformers,
// where the most is looked at first; one that the options give has to go with the other. `of`: "an image", "a clip".
ImageSettings bounded(ImageSettings settings, const InputsOptions& options, std::string_view of);

// `where`: the options, or the file that they were read for.
[[noreturn]] void refuse_option(std::string what, std::string where, std::string expected = {}, std::string next = {});

}  // namespace thaw::media
