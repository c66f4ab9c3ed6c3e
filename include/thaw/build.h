// Builds ONNX models from a checkpoint: vision towers, audio encoders, text decoders, embedding models.
//
//   thaw::BuildReport report = thaw::build("Qwen3-VL-4B", "onnx", {.target = thaw::BuildTarget::kOrt});
//
// Each part is written as <part>.onnx with its weights in <part>.onnx.data, or <part>.onnx.1.data over an older build. All files
// are replaced together, or none is (docs/robustness.md, Writing). Weights are streamed from the mapped checkpoint. Peak memory does
// not depend on their size, except in ONNX Runtime's process, which loads each part (BuildOptions::load).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/array.h"
#include "thaw/convert.h"
#include "thaw/export.h"
#include "thaw/in_memory.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// The operators that a model may have.
//   kPortable  operators of ai.onnx only
//   kOrt       also com.microsoft, as ONNX Runtime supports it on CPU and CUDA
//   kDirectMl  operators and types that ONNX Runtime's DirectML execution provider supports, opset 20 at most
enum class BuildTarget : uint8_t { kPortable, kOrt, kDirectMl };

// The LoRA adapter of Phi-4-multimodal that is merged into the decoder's weights. A request uses one of them.
enum class Lora : uint8_t { kVision, kSpeech, kNone };

// The inputs of a vision tower of Qwen's VL models.
//   kPatches  pixel_values float32 [num_patches, channels * patch_size^2 * temporal_patch_size] and grid_thw int64 [num_images, 3], as
//             the image processors of transformers make them: images and clips of several sizes in a call
//   kImage    image float32 [num_images, 3, height, width]: images of one size; the graph makes patches and grid
enum class VisionInput : uint8_t { kPatches, kImage };

// The hidden states that a text model outputs: of all tokens [batch, seq, hidden], or of each row's last token [batch, hidden].
enum class Pooling : uint8_t { kNone, kLast };

struct BuildOptions {
  std::string part = "all";           // "vision", "text", "audio", "embedding"
  DataType dtype = DataType::kFloat;  // of weights and activations: kFloat, kFloat16 or kBfloat16
  // Of MatMul and Gather weights: kKeep is dtype; kInt4 and kInt8Blocks are block-wise quantized, by a method that needs no data.
  // kPortable writes these as DequantizeLinear, in opset 21.
  NumberFormat weights = NumberFormat::kKeep;
  BlockOptions blocks = {};
  BuildTarget target = BuildTarget::kPortable;
  // With kPortable: a backend that `check` knows (target_names()), whose table says which operators, opset and forms of blocks may be
  // written. Empty: none. See set_target.
  std::string backend = {};
  int64_t opset = 20;     // 18 to 20
  bool kv_cache = false;  // text: inputs past_key_values.* and position_ids, outputs present.*
  // text, with kv_cache: input inputs_embeds [batch, seq, hidden], the output of embedding.onnx, instead of input_ids. build() sets
  // it where it builds that part too.
  bool takes_embeddings = false;
  // For onnxruntime-genai: its tensor names, genai_config.json and the tokenizer's files. Implies kv_cache.
  bool genai = false;
  // text: output last_hidden_state (kNone) or sentence_embedding (kLast). nullopt: as config.json's architectures says.
  std::optional<Pooling> pooling = std::nullopt;
  Lora lora = Lora::kVision;
  VisionInput input = VisionInput::kPatches;
  SizeRenames rename = {};
  bool load = true;  // load every part in ONNX Runtime before it is published; else small parts only
};

// A target by its name among target_names(), in `target` or `backend`. Throws thaw::Error (kInvalidArgument) for another one.
THAW_API void set_target(const std::string& name, BuildOptions& options);

struct BuiltFile {
  std::string part;
  std::filesystem::path path;
  std::filesystem::path data;  // external data; empty where the model file has all
  int64_t num_nodes = 0;
  uint64_t weight_bytes = 0;
  LoadCheck load_check = {};
};

struct BuildReport {
  std::string model_type;  // of config.json
  std::vector<BuiltFile> files;
  std::vector<std::filesystem::path> other_files;  // genai_config.json, files of the tokenizer
  std::vector<std::string> unused_tensors;         // of the checkpoint; only where all parts were built
  std::vector<std::string> warnings;               // a sentence each

  std::optional<BuiltFile> refused;      // a part that ONNX Runtime does not load; nothing was written
  std::vector<std::string> unsupported;  // what the target does not support, a sentence each

  // All parts were built and written, and the target supports them.
  THAW_API bool accepted() const;
};

// `checkpoint` is a folder with config.json and *.safetensors, as transformers saves it. `folder` is created where it does not
// exist. Nothing is written before all parts are built. Throws thaw::Error for options that contradict each other, for a part
// that the family does not have, and for a checkpoint that is incomplete or malformed.
THAW_API BuildReport build(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                           const BuildOptions& options = {});

struct CheckpointInMemory {
  std::filesystem::path
      folder;  // config.json and what else stands beside the weights: tokenizer.json, generation_config.json
  std::vector<WeightBytes> weights;
};

// The same of weights in memory, which are read while the files are written, and not copied before. Throws thaw::Error also for a
// weight that is there twice or has another number of bytes than its dims.
THAW_API BuildReport build(const CheckpointInMemory& checkpoint, const std::filesystem::path& folder,
                           const BuildOptions& options = {});

THAW_API std::string to_json(const BuildReport& report);
THAW_API std::string to_text(const BuildReport& report, const TextOptions& how = {});

}  // namespace thaw
