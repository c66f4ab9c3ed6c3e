// From a checkpoint to ONNX: vision towers, audio encoders, text decoders.
//
//   thaw::BuildReport report = thaw::build("Qwen3-VL-4B", "onnx", {.target = thaw::BuildTarget::kOrt});
//
// Each part is written as <part>.onnx with its weights in <part>.onnx.data, or <part>.onnx.1.data over an older build. All files
// take their places as one, or none does (docs/robustness.md, Writing). Weights stream from the mapped checkpoint; peak memory does not
// depend on their size, but for that of ONNX Runtime's process, which loads each part (BuildOptions::load).
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
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// Which operators the models may use.
//   kPortable  operators of ai.onnx only
//   kOrt       com.microsoft's fused operators too, as ONNX Runtime runs them on CPU and CUDA
//   kDirectMl  operators and types that ONNX Runtime's DirectML execution provider takes, opset 20 at most
enum class BuildTarget : uint8_t { kPortable, kOrt, kDirectMl };

// The adapter of Phi-4-multimodal that is merged into the decoder's weights. A request uses one of them.
enum class Lora : uint8_t { kVision, kSpeech, kNone };

// What the vision towers of Qwen's VL models take.
//   kPatches  pixel_values and grid_thw, as the image processors write them: images and clips of any sizes in a call
//   kImage    image, float32 [num_images, 3, height, width]: images of one size; patches and their grid are made in the graph
enum class VisionInput : uint8_t { kPatches, kImage };

// Which hidden states of a text model are its output: those of all tokens, or of each row's last token.
enum class Pooling : uint8_t { kNone, kLast };

struct BuildOptions {
  std::string part = "all";           // "vision", "text", "audio", "embedding"
  DataType dtype = DataType::kFloat;  // of weights and activations: kFloat, kFloat16 or kBfloat16
  // Matrices that are multiplied by or looked up in: as dtype says (kKeep), or in blocks of 4 or 8 bits (kInt4,
  // kInt8Blocks), by a method that needs no data. kPortable has them as DequantizeLinear, in opset 21.
  NumberFormat weights = NumberFormat::kKeep;
  BlockOptions blocks = {};
  BuildTarget target = BuildTarget::kPortable;
  int64_t opset = 20;     // 18 to 20
  bool kv_cache = false;  // text: past_key_values.* in, present.* out, and position_ids
  // text, with kv_cache: inputs_embeds in, as embedding.onnx gives them, instead of input_ids. build() sets it where it
  // builds that part too.
  bool takes_embeddings = false;
  // What onnxruntime-genai loads: its tensor names, genai_config.json and the tokenizer's files too. Implies kv_cache.
  bool genai = false;
  // text: last_hidden_state (kNone) or sentence_embedding (kLast), whatever config.json's architectures says.
  std::optional<Pooling> pooling = std::nullopt;
  Lora lora = Lora::kVision;
  VisionInput input = VisionInput::kPatches;
  SizeRenames rename = {};
  bool load = true;  // every part in ONNX Runtime before it takes its name; else those that are small alone
};

struct BuiltFile {
  std::string part;
  std::filesystem::path path;
  std::filesystem::path data;  // its weights; empty where the model file holds them all
  int64_t num_nodes = 0;
  uint64_t weight_bytes = 0;
  AsWritten as_written = {};
};

struct BuildReport {
  std::string model_type;  // of config.json
  std::vector<BuiltFile> files;
  std::vector<std::filesystem::path> others;  // with a cache: what is no model, and is read beside the models
  std::vector<std::string> unused;    // tensors of the checkpoint that no part of the model reads, where all were built
  std::vector<std::string> warnings;  // what may not be meant, a sentence each

  std::optional<BuiltFile> refused;  // a part that ONNX Runtime does not load: nothing was written
  std::vector<std::string> untaken;  // what `check` with the target finds in the models, a sentence each

  // Every part that was asked for was built and written, and the target takes it.
  THAW_API bool accepted() const;
};

// `checkpoint` is the folder with config.json and *.safetensors, as transformers saves it; `folder` is made where it is
// not there. Throws thaw::Error for a part that the family does not have, options that do not go together, and
// everything that is wrong with the checkpoint. Nothing is written before every part is built.
THAW_API BuildReport build(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                           const BuildOptions& options = {});

THAW_API std::string to_json(const BuildReport& report);
THAW_API std::string to_text(const BuildReport& report, const TextOptions& how = {});

}  // namespace thaw
