// thaw build: from a checkpoint to ONNX.
#include "thaw/model/build.h"

#include <memory>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "thaw/cli/block_options.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/verb.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

struct BuildArguments {
  std::string checkpoint, output;
  BuildOptions build;
  SaveArguments saving;
  std::pair<ir::DataType, NumberFormat> type = {ir::DataType::kFloat, NumberFormat::kKeep};
  Format format = Format::kText;
};

constexpr size_t kMostShown = 8;

std::string as_json(const BuildReport& report) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model_type", report.model_type);
  json.member_array("files");
  for (const BuiltFile& file : report.files) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member("part", file.part);
    json.member("path", file.path.string());
    json.optional_member("data", file.data.string());
    json.member("nodes", file.num_nodes);
    json.member("weight_bytes", static_cast<int64_t>(file.weight_bytes));
    json.end_object();
  }
  json.end_array();
  json.member_array("others");
  for (const auto& path : report.others) json.value(path.string());
  json.end_array();
  json.member_array("warnings");
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end_array();
  json.member_array("unused");
  for (const std::string& name : report.unused) json.value(name);
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string as_text(const BuildReport& report) {
  std::string text;
  for (const BuiltFile& file : report.files) {
    text += fmt::format("wrote {}  {} nodes, {:.1f} MB of weights\n", report::printable(file.path.string()),
                        file.num_nodes, static_cast<double>(file.weight_bytes) / 1e6);
    if (!file.data.empty()) text += fmt::format("wrote {}\n", report::printable(file.data.string()));
  }
  for (const auto& path : report.others) text += fmt::format("wrote {}\n", report::printable(path.string()));
  for (const std::string& warning : report.warnings) text += "warning: " + report::printable(warning) + "\n";
  if (report.unused.empty()) return text;
  text += fmt::format("not used: {} tensors of the checkpoint\n", report.unused.size());
  for (size_t i = 0; i < report.unused.size() && i < kMostShown; ++i)
    text += fmt::format("  {}\n", report::printable(report.unused[i]));
  if (report.unused.size() > kMostShown) text += "  … (--format json lists them all)\n";
  return text;
}

int build_models(const BuildArguments& options) {
  BuildOptions how = options.build;
  std::tie(how.dtype, how.weights) = options.type;
  how.rename = options.saving.renames();
  const BuildReport report = model::build(model::Checkpoint::open(options.checkpoint), options.output, how);
  write_output(options.format == Format::kJson ? as_json(report) : as_text(report));
  return kFine;
}

}  // namespace

Action define_build(CLI::App& app) {
  auto options = std::make_shared<BuildArguments>();
  app.add_option("CHECKPOINT", options->checkpoint, "the folder with config.json and *.safetensors")
      ->required()
      ->type_name("FOLDER");
  app.add_option("-o,--output", options->output, "the folder to write to")->required()->type_name("FOLDER");
  add_choice<std::string>(
      app, "--part", options->build.part,
      {{"all", "all"}, {"vision", "vision"}, {"text", "text"}, {"audio", "audio"}, {"embedding", "embedding"}},
      "which part of the model; all of them by default");
  add_choice<std::pair<ir::DataType, NumberFormat>>(
      app, "--dtype", options->type,
      {{"f32", {ir::DataType::kFloat, NumberFormat::kKeep}},
       {"f16", {ir::DataType::kFloat16, NumberFormat::kKeep}},
       {"bf16", {ir::DataType::kBfloat16, NumberFormat::kKeep}},
       {"int4", {ir::DataType::kFloat, NumberFormat::kInt4}},
       {"int4-f16", {ir::DataType::kFloat16, NumberFormat::kInt4}},
       {"int8-blocks", {ir::DataType::kFloat, NumberFormat::kInt8Blocks}}},
      "the type of weights and activations, f32 by default; or of matrices alone, in blocks");
  add_blocks(app, options->build.blocks, false);
  add_choice<BuildTarget>(
      app, "--target", options->build.target,
      {{"portable", BuildTarget::kPortable}, {"ort", BuildTarget::kOrt}, {"directml", BuildTarget::kDirectMl}},
      "which operators may be used; portable by default");
  app.add_option("--opset", options->build.opset, "the version of ai.onnx: 18, 19 or 20 (the default)")->type_name("N");
  add_choice<VisionInput>(app, "--input", options->build.input,
                          {{"patches", VisionInput::kPatches}, {"image", VisionInput::kImage}},
                          "Qwen's vision towers: patches and grids (the default), or images of one size");
  app.add_flag("--kv-cache", options->build.kv_cache, "text: past keys and values in, present ones out");
  app.add_flag("--genai", options->build.genai, "write what onnxruntime-genai loads; implies --kv-cache");
  add_choice<Lora>(app, "--lora", options->build.lora,
                   {{"vision", Lora::kVision}, {"speech", Lora::kSpeech}, {"none", Lora::kNone}},
                   "Phi-4-multimodal: the adapter that is merged into the decoder; vision by default");
  add_rename(app, options->saving.rename);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx\n"
      "thaw build Qwen2.5-VL-3B-Instruct -o onnx --part vision --input image\n"
      "thaw build Qwen3-ASR-0.6B -o onnx --part audio --dtype f16 --target directml");
  return [options] { return build_models(*options); };
}

}  // namespace thaw::cli
