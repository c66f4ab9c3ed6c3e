// How checkpoints of Phi-4-multimodal are named, and where their LoRA adapters are.
//
// On the model hub both adapters stand among the weights that they change ("<layer>.base_layer.weight",
// "<layer>.lora_A.vision.weight", "<layer>.lora_B.vision.weight"), and config.json has vision_lora and speech_lora. As
// transformers saves the model, the weights are plain, and each adapter is a folder beside them, "vision-lora" and
// "speech-lora", with an adapter_config.json and an adapter_model.safetensors.
#pragma once

#include <optional>

#include "thaw/build.h"
#include "thaw/model/checkpoint.h"
#include "thaw/model/weights.h"

namespace thaw::model {

void name_phi4(Checkpoint& checkpoint);

// The adapter that options.lora asks for; nullopt where it is kNone or the checkpoint has no such adapter. Throws
// thaw::Error for an adapter of a kind that cannot be merged as W + scale * B A.
std::optional<Adapter> phi4_adapter(Checkpoint& checkpoint, const BuildOptions& options);

}  // namespace thaw::model
