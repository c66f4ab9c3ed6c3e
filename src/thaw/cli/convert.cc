// thaw convert: a model in fewer bits, and what that costs.
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/block_options.h"
#include "thaw/cli/convert_page.h"
#include "thaw/cli/convert_report.h"
#include "thaw/cli/feed_options.h"
#include "thaw/cli/fitting_options.h"
#include "thaw/cli/int8_options.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/converted.h"
#include "thaw/core/error.h"
#include "thaw/media/file_samples.h"
#include "thaw/quant/plan_file.h"
#include "thaw/run/input_text.h"

namespace thaw::cli {
namespace {

struct ConvertArguments {
  std::string model, output, plan, report;
  std::vector<std::string> values;
  bool no_check = false, no_optimize = false, explain = false;
  std::optional<OptimizeTarget> target;
  ConvertOptions convert;
  InputsOptions feed;
  bool has_feed = false;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

int convert_model(const ConvertArguments& options) {
  ReportFile file(options.report, {options.model, options.output, options.plan});
  ConvertOptions how = options.convert;
  if (!options.plan.empty()) quantizing::read_plan(options.plan, how);
  if (how.precision.to == NumberFormat::kKeep && how.plan.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "nothing says what to convert to",
                 .where = "thaw convert",
                 .expected = "--to f16, bf16, int8, int4, int3 or int2, or --plan plan.json"});
  how.optimize = !options.no_optimize;
  how.check = !options.no_check;
  how.target = options.target.value_or(OptimizeTarget::kPortable);
  run::add_values(options.values, how.feeds);
  if (options.has_feed && how.data.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "nothing says where the images or recordings are",
                                              .where = "--for, --resize",
                                              .expected = "--data with their folder"});
  ir::Model& model = *until_exit(ir::load(options.model));
  options.saving.require(model, options.output);
  file.require_other(ir::data_files_of(model));
  rewrite::require_renames(model, options.saving.renames());
  const bool has_data_files = !ir::data_files_of(model).empty();
  const ir::Model& original = *until_exit(ir::load(options.model));
  std::shared_ptr<const quantizing::SampleSource> samples;
  if (options.has_feed) samples = std::make_shared<media::FileSamples>(how.data, options.feed, original);
  const ConvertReport report = confirm::convert(model, original, how, std::move(samples));
  Written files;
  // What was asked to be compared and could not be is not written either.
  const bool is_proven = report.runs() && (options.no_check || !report.errors.empty() || report.uncompared.empty());
  if (is_proven) {
    SaveOptions save;
    save.external = options.external;
    // What was outside the file and is made anew stays outside.
    if (save.external == ExternalPolicy::kKeep && has_data_files) save.external = ExternalPolicy::kSingle;
    rewrite::rename_sizes(model, options.saving.renames());
    files = ir::save(model, options.output, save);
  }
  const std::string json = convert_json(options.model, report, files);
  file.write(json, [&] { return convert_page(options.model, options.output, report, files); });
  write_output(options.format == Format::kJson ? json : convert_text(report, files, options.explain));
  return is_proven ? kFine : kFindings;
}

void add_formats(CLI::App& app, ConvertArguments& options) {
  using enum NumberFormat;
  add_choice<NumberFormat>(app, "--to", options.convert.precision.to,
                           {{"f16", kFloat16},
                            {"bf16", kBfloat16},
                            {"int8", kInt8},
                            {"int4", kInt4},
                            {"int3", kInt3},
                            {"int2", kInt2},
                            {"int8-blocks", kInt8Blocks}},
                           "what its nodes compute with, or what its weights are stored in");
  app.add_option("--plan", options.plan, "JSON that gives nodes a precision by name (docs/converting.md)")
      ->type_name("FILE");
  add_list(app, "--keep", options.convert.keep, "PATTERN",
           "nodes that stay as they are, by name or operator, such as '*lm_head*'");
  add_choice<bool>(app, "--io", options.convert.convert_io, {{"keep", false}, {"convert", true}},
                   "inputs and outputs keep their types, with Casts, or are converted too (keep)");
}

}  // namespace

Action define_convert(CLI::App& app) {
  auto options = std::make_shared<ConvertArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the file to write")->type_name("FILE")->required();
  add_formats(app, *options);
  BlockOptions& blocks = options->convert.precision.blocks;
  add_blocks(app, blocks, true);
  add_choice<BlockForm>(app, "--form", blocks.form,
                        {{"matmulnbits", BlockForm::kMatMulNBits}, {"qdq", BlockForm::kQdq}},
                        "ONNX Runtime's operators, or ONNX's DequantizeLinear (matmulnbits; --target portable: qdq)");
  add_int8(app, options->convert.precision.int8);
  app.add_option_function<std::string>(
         "--data", [options](const std::string& path) { options->convert.data = path; },
         "samples: .npz files with the inputs by name; with --for images or recordings")
      ->type_name("PATH");
  add_choice<std::optional<OptimizeTarget>>(
      app, "--target", options->target,
      {{"portable", OptimizeTarget::kPortable}, {"ort", OptimizeTarget::kOrt}, {"directml", OptimizeTarget::kDirectml}},
      "whose operators the result may have (portable)");
  add_feed_options(app, options->feed);
  app.add_flag("--constant-weights", options->convert.constant_weights,
               "weights that are inputs too become constants, and are no inputs any more");
  app.add_flag("--no-optimize", options->no_optimize, "do not run `thaw optimize` on it first");
  app.add_flag("--explain", options->explain, "print every node, and why what stays does");
  add_report(app, options->report);
  add_external(app, options->external);
  add_save_options(app, options->saving);
  app.add_flag("--no-check", options->no_check, "do not run the result beside the model");
  add_texts(app, "--values", options->values, "NAME=1,22,30",
            "the elements of a small input, for the check; the rest is drawn");
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw convert model.onnx -o model_f16.onnx --to f16\n"
      "thaw convert model.onnx -o model_f16.onnx --to f16 --data samples/\n"
      "thaw convert model.onnx -o model_bf16.onnx --to bf16 --io convert\n"
      "thaw convert model.onnx -o model_int8.onnx --to int8 --data samples/\n"
      "thaw convert vision.onnx -o vision_int8.onnx --to int8 --data photos/ --for qwen2_5_vl\n"
      "thaw convert model.onnx -o model_int8.onnx --to int8 --dynamic\n"
      "thaw convert model.onnx -o model_int4.onnx --to int4 --block 64\n"
      "thaw convert model.onnx -o model_int4.onnx --to int4 --method gptq --data samples/\n"
      "thaw convert model.onnx -o mixed.onnx --plan plan.json");
  return [options, &app] {
    if (options->plan.empty()) require_fitting(app, options->convert.precision);
    BlockOptions& blocks = options->convert.precision.blocks;
    // What was said to be portable has no operators but ONNX's.
    if (options->target == OptimizeTarget::kPortable && app.count("--form") == 0) blocks.form = BlockForm::kQdq;
    options->has_feed = has_feed_options(app);
    return convert_model(*options);
  };
}

}  // namespace thaw::cli
