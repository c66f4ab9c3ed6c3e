// embedding.onnx of the multimodal models: token ids and the towers' features to what the decoder reads.
//
//   input_ids              int64 [batch, seq]
//   vision_features        [num_tokens, hidden] for the image and video tokens (Qwen-VL)
//   deepstack_features_<k> the same shape, for each DeepStack layer that the decoder adds (Qwen3-VL)
//   audio_features         [num_tokens, hidden] (Qwen3-ASR)
//   image_features, audio_features   [num_image_tokens, hidden], [num_audio_tokens, hidden] (Phi-4-multimodal); the
//                                    second may be left out
//
//   inputs_embeds          [batch, seq, hidden]: features where the special tokens stand, embeddings elsewhere
//   deepstack_embeds_<k>   the same shape: features where the visual tokens stand, zeros elsewhere
//
// Features are in the model's type, as the towers output them, and stand in the order in which their tokens do, row of
// the batch by row. There may be none, and no token then. More tokens than features are an error at run time.
#pragma once

#include <vector>

#include "thaw/model/family/family.h"

namespace thaw::model {

std::unique_ptr<ir::Model> build_qwen_vl_embedding(const BuildContext& context);
std::unique_ptr<ir::Model> build_qwen3_asr_embedding(const BuildContext& context);
std::unique_ptr<ir::Model> build_phi4_embedding(const BuildContext& context);

// How many DeepStack tensors the decoder adds: one behind each of its first layers. What a tower outputs beyond its `layers` is
// made and left unread, as in transformers.
int64_t num_deepstack(const Config& config, int64_t layers);
// After which of the tower's layers the features are taken, in the order of their mergers.
std::vector<int64_t> deepstack_layers(const Config& config);

}  // namespace thaw::model
