// What onnxruntime-genai loads besides the models: genai_config.json, the image processor's processor_config.json, and
// the tokenizer's files.
//
// Its search calls the models through the names that genai_config.json gives. It knows decoders by a type of its own
// and runs two kinds of models that thaw build writes: decoders that take input_ids, and vision, embedding and decoder
// of Qwen2.5-VL and Qwen3-VL together. Audio is not among the inputs of either, so Qwen3-ASR and Phi-4-multimodal go as
// decoders only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/build.h"
#include "thaw/model/checkpoint.h"

namespace thaw::model {

struct TextFile {
  std::string name, text;
};

// Throws thaw::Error for a model that onnxruntime-genai does not run.
void check_genai(const Config& config, const BuildOptions& options);

// Of a decoder alone (options.takes_embeddings is not set) or of all parts of a model. Throws thaw::Error for a model
// that onnxruntime-genai does not run and for one whose config names no token that ends a text.
std::vector<TextFile> genai_files(const Checkpoint& checkpoint, const BuildOptions& options);

// A file of the tokenizer: what it is called, and where its bytes are once links are followed.
struct TokenizerFile {
  std::string name;
  std::filesystem::path path;
};

// Those that the checkpoint has, and with `settings` what else `thaw run` reads of it: config.json and its like. A link is followed within the checkpoint's folder and, of a snapshot in a hub's cache
// (<model>/snapshots/<revision>), into the blobs beside it (<model>/blobs). Throws thaw::Error for a link that leads
// elsewhere: what is copied is the checkpoint's.
std::vector<TokenizerFile> tokenizer_files(const std::filesystem::path& checkpoint, bool settings);

}  // namespace thaw::model
