// What a build may be told.
#pragma once

#include <cstdint>
#include <string>

#include "thaw/ir/data/types.h"

namespace thaw::model {

// Which operators the models may use.
//   kPortable  operators of ai.onnx only
//   kOrt       com.microsoft's fused operators too, as ONNX Runtime runs them on CPU and CUDA
//   kDirectMl  operators and types that ONNX Runtime's DirectML execution provider takes, opset 20 at most
enum class Target : uint8_t { kPortable, kOrt, kDirectMl };

// The adapter of Phi-4-multimodal that is merged into the decoder's weights. A request uses one of them.
enum class Lora : uint8_t { kVision, kSpeech, kNone };

struct Options {
  ir::DataType dtype = ir::DataType::kFloat;  // of weights and activations: kFloat, kFloat16 or kBfloat16
  Target target = Target::kPortable;
  int64_t opset = 20;     // 18 to 20
  bool kv_cache = false;  // text: past_key_values.* in, present.* out, and position_ids
  // text, with kv_cache: inputs_embeds in, as embedding.onnx gives them, instead of input_ids. build() sets it where it
  // builds that part too.
  bool takes_embeddings = false;
  // What onnxruntime-genai loads: its tensor names, genai_config.json and the tokenizer's files too. Implies kv_cache.
  bool genai = false;
  Lora lora = Lora::kVision;
};

}  // namespace thaw::model
