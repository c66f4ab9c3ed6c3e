// The audio encoder of Qwen3-ASR with its projector.
//
//   input_features       float32 [batch, mel_bins, frames]: log-mel frames of 10 ms
//   input_features_mask  int64 [batch, frames]: 1 for a frame of the clip, 0 for padding after it
//   audio_features       [num_tokens, output_dim]: the tokens of the clips one after another, padding left out
//
// Frames are taken in chunks of 2 * n_window (100), each on its own: three convolutions of stride 2 make 13 positions
// of it, and positions start again in every chunk. An unfinished last chunk counts as padded with zeros. Attention sees
// the n_window_infer frames (8 chunks) of its window. Source: the Qwen3-Omni and Qwen3-ASR technical reports (2025).
#pragma once

#include "thaw/model/family/family.h"

namespace thaw::model {

std::unique_ptr<ir::Model> build_qwen3_asr_audio(const BuildContext& context);

}  // namespace thaw::model
