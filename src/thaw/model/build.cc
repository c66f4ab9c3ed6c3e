#include "thaw/model/build.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/new_folder.h"
#include "thaw/model/family/family.h"
#include "thaw/model/family/text_head.h"
#include "thaw/model/genai.h"
#include "thaw/ops/target/planned_node.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/convert.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/target_forms.h"
#include "thaw/quant/to_blocks.h"
#include "thaw/rewrite/rename_sizes.h"

namespace thaw::model {
namespace {

void check_options(const BuildOptions& options) {
  if (options.opset < 18 || options.opset > 20) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("the opset {} is not one that thaw build writes", options.opset),
                 .where = "--opset",
                 .expected = "18, 19 or 20",
                 .next = "leave the option out for 20"});
  }
  if (options.weights != NumberFormat::kKeep &&
      (!quantizing::is_blocks(options.weights) || quantizing::needs_data(options.blocks.method))) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "weights are built in blocks by methods that need no samples",
                                              .where = "--dtype int4",
                                              .expected = "the method rtn, search or hqq",
                                              .next = "build in f32, then `thaw convert` with --data"});
  }
}

OptimizeTarget operators_of(const BuildOptions& options) {
  return options.target == BuildTarget::kOrt        ? OptimizeTarget::kOrt
         : options.target == BuildTarget::kDirectMl ? OptimizeTarget::kDirectml
                                                    : OptimizeTarget::kPortable;
}

// Whether the target multiplies matrices of that type.
ops::Taken how_multiplied(ir::DataType type, const BuildOptions& options, const ops::Target& target) {
  return ops::how_taken(target, {.op = ops::kProducts.front(), .inputs = {type, type}, .outputs = {type}},
                        options.opset);
}

std::string_view types_multiplied(const BuildOptions& options, const ops::Target& target) {
  const bool has_half = how_multiplied(ir::DataType::kFloat16, options, target).support != Support::kUnsupported;
  return has_half ? "--dtype f32 or f16" : "--dtype f32";
}

// Weights in blocks as the target has them: by standard operators, or those of com.microsoft. Zero points are asked for; the form
// is not.
PrecisionOptions blocks_of(const BuildOptions& options, const ops::Target& target) {
  PrecisionOptions precision{.to = options.weights, .blocks = options.blocks};
  precision.blocks.form = quantizing::fitted(precision, target).blocks.form;
  return precision;
}

// Of the type that matrices are multiplied in, and of weights in blocks.
void check_dtype(const BuildOptions& options, const ops::Target& target) {
  const ops::Taken taken = how_multiplied(options.dtype, options, target);
  if (taken.support == Support::kUnsupported)
    throw Error(ErrorCode::kInvalidArgument, {.what = taken.why,
                                              .where = fmt::format("--target {}", target.name),
                                              .expected = "a type that the target multiplies matrices in",
                                              .next = fmt::format("build with {}", types_multiplied(options, target))});
  if (options.weights == NumberFormat::kKeep) return;
  const auto how_in_blocks = [&](const BuildOptions& which) {
    return quantizing::how_taken(target, blocks_of(which, target), which.opset);
  };
  const ops::Taken in_blocks = how_in_blocks(options);
  if (in_blocks.support != Support::kUnsupported) return;
  std::string next = fmt::format("build with {}", types_multiplied(options, target));
  const NumberFormat fewer = NumberFormat::kInt4;
  for (const auto& [weights, is_symmetric] :
       {std::pair(options.weights, options.blocks.symmetric), {options.weights, true}, {fewer, true}}) {
    BuildOptions other = options;
    other.weights = weights;
    other.blocks.symmetric = is_symmetric;
    other.blocks.real_zeros = false;
    if (how_in_blocks(other).support == Support::kUnsupported) continue;
    next = fmt::format("build with --dtype {}{}{}{}", quantizing::name_of(weights),
                       options.dtype == ir::DataType::kFloat16 ? "-f16" : "", is_symmetric ? " --symmetric" : "",
                       options.blocks.real_zeros ? ", and without --real-zeros" : "");
    break;
  }
  throw Error(ErrorCode::kInvalidArgument,
              {.what = in_blocks.why,
               .where = fmt::format("--dtype {}, --target {}", quantizing::name_of(options.weights), target.name),
               .expected = "weights in a form that the target has kernels for",
               .next = std::move(next)});
}

// Of what --vision-input image asks for.
void check_input(const Family& family, const BuildOptions& options) {
  if (options.input != VisionInput::kImage) return;
  const auto refuse = [](std::string what, std::string expected, std::string next) {
    throw Error(ErrorCode::kInvalidArgument, {.what = std::move(what),
                                              .where = "--vision-input image",
                                              .expected = std::move(expected),
                                              .next = std::move(next)});
  };
  if (!family.takes_images)
    refuse(fmt::format("models of the type '{}' have no tower that takes patches", family.model_types.front()),
           "a model of qwen2_vl, qwen2_5_vl or qwen3_vl", "leave the option out");
  if (options.part != "all" && options.part != "vision")
    refuse(fmt::format("the part '{}' takes no image", options.part), "--part vision, or all parts",
           "leave the option out");
  if (options.genai)
    refuse("onnxruntime-genai passes patches and their grid", "--vision-input patches", "leave one of the two out");
}

// Of text.onnx's outputs.
void check_head(TextHead head, const BuildOptions& options) {
  if (!options.kv_cache || (head != TextHead::kScores && head != TextHead::kTokenScores)) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "a cache is for texts that go on, and the model outputs scores of a whole one",
               .where = "--kv-cache",
               .expected = "a model that outputs logits or hidden states",
               .next = "leave the option out"});
}

std::vector<const Part*> parts_to_build(const Family& family, const std::string& wanted) {
  std::vector<const Part*> parts;
  std::vector<std::string_view> names;
  for (const Part& part : family.parts) {
    names.push_back(part.name);
    if (wanted == "all" || part.name == wanted) parts.push_back(&part);
  }
  if (parts.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("models of the type '{}' have no part '{}'", family.model_types.front(), wanted),
                 .where = "--part",
                 .expected = fmt::format("all, {}", fmt::join(names, ", ")),
                 .next = "name one of these"});
  }
  return parts;
}

uint64_t weight_bytes(const ir::Model& model) {
  uint64_t bytes = 0;
  for (const ir::Value* value : model.graph->initializers()) bytes += value->initializer()->num_bytes();
  return bytes;
}

void put_into_blocks(ir::Model& model, const BuildOptions& options, const ops::Target& target) {
  ConvertOptions convert;
  convert.target = operators_of(options);
  convert.backend = options.backend;
  convert.precision = blocks_of(options, target);
  convert.optimize = false;
  ConvertReport report;
  quantizing::convert(model, convert, nullptr, report);
}

// What the target has no kernel for, in other operators or an opset that has one.
void write_for(const ops::Target& target, const BuildOptions& options, ir::Model& model, const AskTarget& ask) {
  if (!ops::has_kernel_table(target) || ask(model).unsupported.empty()) return;
  optimizing::optimize(model, {.target = operators_of(options),
                               .backend = options.backend,
                               .level = OptimizeLevel::kClean,
                               .only = {std::string(optimizing::kBackendPass)}});
}

// All files of the build as one.
void put_in_place(std::vector<ir::Staged> staged, const std::vector<TextFile>& texts,
                  const std::vector<TokenizerFile>& tokenizer, const std::filesystem::path& folder,
                  BuildReport& report) {
  ir::Staged all = std::move(staged.front());
  for (size_t i = 1; i < staged.size(); ++i) all.join(std::move(staged[i]));
  const auto add = [&](const std::string& name, std::span<const std::byte> bytes) {
    all.add(folder / name, bytes);
    report.other_files.push_back(folder / name);
  };
  for (const TextFile& file : texts) add(std::string(file.name), std::as_bytes(std::span(file.text)));
  for (const TokenizerFile& file : tokenizer) add(std::string(file.name), MappedFile::open(file.path)->bytes());
  const std::vector<std::filesystem::path> written = all.publish();
  for (BuiltFile& file : report.files) {
    const auto is_data = [&](const std::filesystem::path& path) {
      return path.filename().string().starts_with(file.path.filename().string() + ".");
    };
    const auto data = std::ranges::find_if(written, is_data);
    if (data != written.end()) file.data = *data;
  }
}

}  // namespace

BuildReport build(Checkpoint checkpoint, const std::filesystem::path& folder, BuildOptions options,
                  const TryStaged& try_staged, const AskTarget& ask) {
  const std::string& part = options.part;
  check_options(options);
  const ops::Target& target = optimizing::backend_of(operators_of(options), options.backend, "build");
  check_dtype(options, target);
  const Family& family = family_of(checkpoint);
  const std::vector<const Part*> parts = parts_to_build(family, part);
  check_input(family, options);
  const auto builds = [&](std::string_view name) {
    return std::any_of(parts.begin(), parts.end(), [&](const Part* each) { return each->name == name; });
  };
  options.kv_cache |= options.genai;
  if (options.kv_cache && builds("embedding")) options.takes_embeddings = true;
  if (options.genai && !builds("text")) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("onnxruntime-genai runs no model without a decoder, and the part is '{}'", part),
                 .where = "--genai",
                 .expected = "all parts, or --part text",
                 .next = "leave --part out"});
  }
  if (family.name_weights) family.name_weights(checkpoint);
  const Weights weights(checkpoint, family.adapter ? family.adapter(checkpoint, options) : std::nullopt);

  if (options.genai) check_genai(checkpoint.config(), options);
  if (options.pooling && !builds("text")) {
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the part '{}' has no hidden states of a text", part),
                                              .where = "--pooling",
                                              .expected = "all parts, or --part text",
                                              .next = "leave one of the two out"});
  }
  const TextHead head = builds("text") ? text_head(checkpoint.config(), options) : TextHead::kLogits;
  check_head(head, options);

  BuildReport report;
  report.model_type = checkpoint.config().text({"model_type"});
  std::vector<std::unique_ptr<ir::Model>> models;
  for (const Part* each : parts) {
    models.push_back(each->build({checkpoint, weights, options}));
    if (ask) write_for(target, options, *models.back(), ask);
    if (options.weights != NumberFormat::kKeep) put_into_blocks(*models.back(), options, target);
    if (ask) {
      const ops::TargetVerdict verdict = ask(*models.back());
      for (const auto& [said, list] :
           {std::pair(&verdict.unsupported, &report.unsupported), {&verdict.warnings, &report.warnings}})
        for (const std::string& what : *said) list->push_back(fmt::format("{}.onnx: {}", each->name, what));
    }
    report.files.push_back({.part = std::string(each->name),
                            .path = folder / fmt::format("{}.onnx", each->name),
                            .num_nodes = static_cast<int64_t>(models.back()->graph->nodes().size()),
                            .weight_bytes = weight_bytes(*models.back())});
  }
  // First, as that refuses links that lead out of the checkpoint, and what they lead to is not read.
  const std::vector<TokenizerFile> tokenizer = options.kv_cache && builds("text")
                                                   ? tokenizer_files(checkpoint.folder(), /*settings=*/!options.genai)
                                                   : std::vector<TokenizerFile>();
  const std::vector<TextFile> texts = options.genai ? genai_files(checkpoint, options) : std::vector<TextFile>();
  std::vector<ir::Model*> built;
  for (const auto& model : models) built.push_back(model.get());
  rewrite::rename_sizes(built, options.rename);
  const NewFolder made(folder);
  std::vector<ir::Staged> staged;
  for (size_t i = 0; i < models.size(); ++i) {
    const std::filesystem::path& path = report.files[i].path;
    staged.push_back(ir::stage(*models[i], path, {.external = ExternalPolicy::kSingle}));
    LoadCheck& tried = report.files[i].load_check = try_staged(*models[i], path, staged.back());
    models[i].reset();
    if (!tried.has_failed()) continue;
    report.refused = std::move(report.files[i]);
    report.files.clear();
    return report;
  }
  put_in_place(std::move(staged), texts, tokenizer, folder, report);
  if (options.genai) {
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(tokenizer, [&](const TokenizerFile& file) { return file.name == name; });
    };
    std::vector<std::string_view> missing;
    for (const std::string_view name : {"tokenizer.json", "tokenizer_config.json"})
      if (!has(name)) missing.push_back(name);
    if (!missing.empty())
      report.warnings.push_back(
          fmt::format("the checkpoint has no {}: onnxruntime-genai makes no tokens of text without; copy {} from the "
                      "model's page to {}",
                      fmt::join(missing, " and no "), missing.size() == 1 ? "it" : "them", folder.string()));
  }
  if (builds("text") && head == TextHead::kLogits &&
      std::filesystem::is_regular_file(checkpoint.folder() / "modules.json"))
    report.warnings.emplace_back(
        "text.onnx outputs logits, as architectures of config.json says, and modules.json that it is an embedder of "
        "sentence-transformers: --pooling last or none builds hidden states");
  if (part == "all") report.unused_tensors = checkpoint.unused();
  return report;
}

}  // namespace thaw::model
