// The vision towers of the Qwen-VL family: Qwen2-VL, Qwen2.5-VL, Qwen3-VL.
//
//   pixel_values  float32 [num_patches, channels * temporal_patch * patch * patch]
//   grid_thw      int64 [num_images, 3]: frames, height and width in patches; several images or clips stand one after
//                 the other in pixel_values
// or, of images of one size (VisionInput::kImage), their elements after normalization:
//   image         float32 [num_images, channels, height, width]; height and width are multiples of patch * merge
//   vision_features         [num_tokens, out_hidden_size], num_tokens = num_patches / merge^2
//   deepstack_features_<k>  the same shape, one for each DeepStack layer (Qwen3-VL)
//
// Sources: Wang et al., "Qwen2-VL" (2024); Bai et al., "Qwen2.5-VL Technical Report" (2025), section 2.1 (windows);
// Qwen3-VL (2025), DeepStack after Meng et al. (2024).
#pragma once

#include "thaw/model/family/family.h"

namespace thaw::model {

std::unique_ptr<ir::Model> build_qwen2_vl_vision(const BuildContext& context);
std::unique_ptr<ir::Model> build_qwen2_5_vl_vision(const BuildContext& context);
std::unique_ptr<ir::Model> build_qwen3_vl_vision(const BuildContext& context);

}  // namespace thaw::model
