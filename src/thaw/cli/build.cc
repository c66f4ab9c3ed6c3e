// thaw build: from a checkpoint to ONNX.
#include "thaw/build.h"

#include <memory>
#include <tuple>
#include <utility>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

struct BuildArguments {
  std::string checkpoint;
  OutputArguments output;
  BuildOptions build;
  std::pair<DataType, NumberFormat> type = {DataType::kFloat, NumberFormat::kKeep};
  bool no_check = false;
  Format format = Format::kText;
};

int build_models(const BuildArguments& arguments) {
  BuildOptions how = arguments.build;
  std::tie(how.dtype, how.weights) = arguments.type;
  how.load = !arguments.no_check;
  how.rename = arguments.output.output().rename;
  const BuildReport report = build(arguments.checkpoint, arguments.output.path, how);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_build(Options& options) {
  auto arguments = std::make_shared<BuildArguments>();
  options.argument("CHECKPOINT", arguments->checkpoint, "FOLDER", "the folder with config.json and *.safetensors");
  options.required("-o,--output", arguments->output.path, "FOLDER", "the folder to write to");
  options.choice<std::string>(
      "--part", arguments->build.part,
      {{"all", "all"}, {"vision", "vision"}, {"text", "text"}, {"audio", "audio"}, {"embedding", "embedding"}},
      "which part of the model; all of them by default");
  options.choice<std::pair<DataType, NumberFormat>>(
      "--dtype", arguments->type,
      {{"f32", {DataType::kFloat, NumberFormat::kKeep}},
       {"f16", {DataType::kFloat16, NumberFormat::kKeep}},
       {"bf16", {DataType::kBfloat16, NumberFormat::kKeep}},
       {"int4", {DataType::kFloat, NumberFormat::kInt4}},
       {"int4-f16", {DataType::kFloat16, NumberFormat::kInt4}},
       {"int8-blocks", {DataType::kFloat, NumberFormat::kInt8Blocks}}},
      "the type of weights and activations, f32 by default; or of matrices alone, in blocks");
  add_blocks(options, arguments->build.blocks, false);
  options.choice<BuildTarget>(
      "--target", arguments->build.target,
      {{"portable", BuildTarget::kPortable}, {"ort", BuildTarget::kOrt}, {"directml", BuildTarget::kDirectMl}},
      "which operators may be used; portable by default");
  options.value("--opset", arguments->build.opset, "N", "the version of ai.onnx: 18, 19 or 20 (the default)",
                Bounds{1, 1000});
  options.choice<VisionInput>("--input", arguments->build.input,
                              {{"patches", VisionInput::kPatches}, {"image", VisionInput::kImage}},
                              "Qwen's vision towers: patches and grids (the default), or images of one size");
  options.choice<std::optional<Pooling>>(
      "--pooling", arguments->build.pooling, {{"none", Pooling::kNone}, {"last", Pooling::kLast}},
      "text: hidden states of all tokens, or the last, whatever head config.json names");
  options.flag("--kv-cache", arguments->build.kv_cache, "text: past keys and values in, present ones out");
  options.flag("--genai", arguments->build.genai, "write what onnxruntime-genai loads; implies --kv-cache");
  options.choice<Lora>("--lora", arguments->build.lora,
                       {{"vision", Lora::kVision}, {"speech", Lora::kSpeech}, {"none", Lora::kNone}},
                       "Phi-4-multimodal: the adapter that is merged into the decoder; vision by default");
  options.flag("--no-check", arguments->no_check, "load only those parts in ONNX Runtime that are small");
  add_rename(options, arguments->output);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx\n"
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx --part vision --input image\n"
      "thaw build Qwen3-ASR-0.6B -o onnx --part audio --dtype f16 --target directml");
  return [arguments] { return build_models(*arguments); };
}

}  // namespace thaw::cli
