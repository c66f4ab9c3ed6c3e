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

constexpr std::string_view kBuiltName = "built";

struct BuildArguments {
  std::string checkpoint;
  OutputArguments output;
  BuildOptions build;
  std::pair<DataType, NumberFormat> type = {DataType::kFloat, NumberFormat::kKeep};
  std::string target = "portable";
  bool no_check = false;
  Format format = Format::kText;
};

int build_models(const BuildArguments& arguments) {
  BuildOptions how = arguments.build;
  std::tie(how.dtype, how.weights) = arguments.type;
  how.load = !arguments.no_check;
  set_target(arguments.target, how);
  how.rename = arguments.output.output().rename;
  const std::string& given = arguments.output.path;
  const BuildReport report =
      build(arguments.checkpoint, given.empty() ? default_path(arguments.checkpoint, kBuiltName) : given, how);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_build(Options& options) {
  auto arguments = std::make_shared<BuildArguments>();
  options.use("Use it for Qwen-VL, Qwen3-ASR, Phi-4-multimodal and text models, in place of an exporter.");
  options.argument("CHECKPOINT", arguments->checkpoint, "FOLDER", "the folder with config.json and *.safetensors");
  options.heading("Model");
  options.choice<std::string>(
      "--part", arguments->build.part,
      {{"all", "all"}, {"vision", "vision"}, {"text", "text"}, {"audio", "audio"}, {"embedding", "embedding"}},
      "the part to write (all)");
  add_targets(options, arguments->target, "the backend whose operators may be used (portable)");
  options.value("--opset", arguments->build.opset, "N", "the opset: 18, 19 or 20 (20)", Bounds{1, 1000});
  options.choice<VisionInput>("--vision-input", arguments->build.input,
                              {{"patches", VisionInput::kPatches}, {"image", VisionInput::kImage}},
                              "Qwen's vision towers take patches and grids, or images of one size (patches)");
  options.choice<std::optional<Pooling>>("--pooling", arguments->build.pooling,
                                         {{"none", Pooling::kNone}, {"last", Pooling::kLast}},
                                         "text: output the hidden states of all tokens, or of the last");
  options.flag("--kv-cache", arguments->build.kv_cache, "text: past keys and values in, present ones out");
  options.flag("--genai", arguments->build.genai, "write what onnxruntime-genai loads; implies --kv-cache");
  options.choice<Lora>("--lora", arguments->build.lora,
                       {{"vision", Lora::kVision}, {"speech", Lora::kSpeech}, {"none", Lora::kNone}},
                       "Phi-4-multimodal: the adapter to merge into the decoder (vision)");
  options.heading("Precision");
  options.choice<std::pair<DataType, NumberFormat>>(
      "--dtype", arguments->type,
      {{"f32", {DataType::kFloat, NumberFormat::kKeep}},
       {"f16", {DataType::kFloat16, NumberFormat::kKeep}},
       {"bf16", {DataType::kBfloat16, NumberFormat::kKeep}},
       {"int4", {DataType::kFloat, NumberFormat::kInt4}},
       {"int4-f16", {DataType::kFloat16, NumberFormat::kInt4}},
       {"int8-blocks", {DataType::kFloat, NumberFormat::kInt8Blocks}}},
      "weights and activations in this type, or matrices in int4 or int8 blocks (f32)");
  add_blocks(options, arguments->build.blocks, false);
  add_output(options, arguments->output.path, kBuiltName, "FOLDER");
  options.always_writes();
  add_rename(options, arguments->output);
  options.heading("Check");
  options.flag("--no-check", arguments->no_check, "load only small parts in ONNX Runtime");
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--input", "--vision-input");
  options.common({"--output", "--part", "--dtype", "--target", "--kv-cache", "--genai", "--vision-input"});
  options.examples(
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx\n"
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx --part vision --vision-input image\n"
      "thaw build Qwen3-ASR-0.6B -o onnx --part audio --dtype f16 --target directml");
  return [arguments, &options] {
    PrecisionOptions precision{.to = arguments->type.second, .blocks = arguments->build.blocks};
    fit(options, precision, arguments->target);
    arguments->build.blocks.symmetric = precision.blocks.symmetric;
    return build_models(*arguments);
  };
}

}  // namespace thaw::cli
