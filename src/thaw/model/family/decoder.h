// Text decoders: Qwen2, Qwen2.5, Qwen3, their VL and ASR models' text halves, Phi-3, Phi-4-multimodal's, Llama,
// Mistral.
//
//   input_ids       int64 [batch, seq]
//   attention_mask  int64 [batch, seq], 0 for padding, at the left or at the right
//   logits          float32 [batch, seq, vocabulary]; other outputs of models that do not go on with a text (text_head.h)
//
// Without a cache tokens have the positions 0, 1, …, padding counted, as transformers gives them where it is given
// none. With one (BuildOptions::kv_cache):
//
//   attention_mask  int64 [batch, past + seq]
//   position_ids    int64 [batch, seq]; [3, batch, seq] (time, height, width) for the VL models of Qwen
//   past_key_values.<layer>.key, .value, present.<layer>.key, .value
//                   [batch, kv_heads, past or past + seq, head_dim], in the model's type
//
// and with BuildOptions::takes_embeddings
//
//   inputs_embeds         instead of input_ids: [batch, seq, hidden] in the model's type, as embedding.onnx outputs them
//   deepstack_embeds_<k>  the same shape, for Qwen3-VL: added after layer k
#pragma once

#include "thaw/model/family/family.h"

namespace thaw::model {

std::unique_ptr<ir::Model> build_decoder(const BuildContext& context);

}  // namespace thaw::model
