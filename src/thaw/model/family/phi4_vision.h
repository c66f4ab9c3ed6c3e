// The vision tower of Phi-4-multimodal: SigLIP over crops, and the arrangement of the crops' features.
//
//   pixel_values          float32 [num_images, max_num_crops, channels, image_size, image_size]: of each image a view of
//                         the whole, then its crops row by row, then padding
//   image_attention_mask  bool [num_images, max_num_crops, side, side], side = image_size / patch_size: the patches that
//                         show the image
//   image_sizes           int64 [num_images, 2]: height and width in pixels, multiples of the crop's
//   image_features        [num_tokens, hidden_size], the tokens of each image one after the other
//
// Sources: Abouelenin et al., "Phi-4-Mini Technical Report" (2025), section 2.2; Zhai et al., "Sigmoid Loss for
// Language Image Pre-Training" (2023); Dehghani et al., "Patch n' Pack: NaViT" (2023), factorized fractional positions.
#pragma once

#include "thaw/model/family/family.h"

namespace thaw::model {

std::unique_ptr<ir::Model> build_phi4_vision(const BuildContext& context);

}  // namespace thaw::model
