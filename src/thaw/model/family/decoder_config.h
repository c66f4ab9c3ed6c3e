// What config.json says of a text decoder, in either style: flat as on the model hub, or nested as transformers saves
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thaw/model/checkpoint.h"
#include "thaw/model/nn/decoder_attention.h"
#include "thaw/model/nn/rope.h"

namespace thaw::model {

struct DecoderConfig {
  int64_t layers, hidden, inner, vocabulary;
  AttentionSizes attention;
  double norm_epsilon;
  std::string activation;
  std::vector<int64_t> windows;  // for each layer, how many tokens a token sees; 0: all
  Rope rope;
  bool tied;  // the head's weights are the embedding's

  // How the family's layers are put together.
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool norms_heads = false;  // queries and keys are normed, head by head (Qwen3)
  bool fused = false;        // weights are stored as qkv_proj and gate_up_proj (Phi-3)
  std::string prefix;        // of the weights: "model"
};

// Throws thaw::Error where a key is missing or does not fit.
DecoderConfig read_decoder_config(const Checkpoint& checkpoint);

// The object that holds the text model's keys, and the one that holds token ids and the vision_config.
Config text_config(const Config& config);
Config outer_config(const Config& config);

}  // namespace thaw::model
