// thaw convert: a model in fewer bits, and what that costs.
#include "thaw/convert.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/defaults.h"

namespace thaw::cli {
namespace {

struct ConvertArguments {
  std::string model, plan, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false, no_optimize = false, all = false;
  std::string target;  // empty: none was asked for
  ConvertOptions convert;
  PromptArguments prompts;
  Format format = Format::kText;
};

// "int8.onnx"; of a plan, "mixed.onnx".
std::string converted_name(NumberFormat to) {
  const auto at = std::ranges::find(number_formats(), to, &std::pair<std::string_view, NumberFormat>::second);
  return fmt::format("{}.onnx", at == number_formats().end() ? std::string_view("mixed") : at->first);
}

int convert_model(const ConvertArguments& arguments, const Options& options) {
  ConvertOptions how = arguments.convert;
  if (arguments.prompts.any()) {
    how.prompts = arguments.prompts.prompt_options(options);
  } else {
    how.preprocessing = given_preprocessing(options);
  }
  if (!arguments.plan.empty()) read_plan(arguments.plan, how, arguments.model);
  if (how.precision.to == NumberFormat::kKeep && how.plan.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "no precision is given",
                 .where = "thaw convert",
                 .expected = "--to f16, bf16, int8, int4, int3 or int2, or --plan plan.json"});
  const OutputArguments output = arguments.output.beside(arguments.model, converted_name(how.precision.to));
  const ReportFile file(arguments.report, {arguments.model, output.path, arguments.plan});
  how.optimize = !arguments.no_optimize;
  how.check = !arguments.no_check;
  if (!arguments.target.empty()) set_target(arguments.target, how);
  how.feeds = arguments.feeds.feeds();
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const ConvertReport report = convert(model, how, output.output());
  file.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() && report.unsupported.empty() ? kFine : kFindings;
}

void add_formats(Options& options, ConvertArguments& arguments) {
  options.heading("Precision");
  options.choice<NumberFormat>("--to", arguments.convert.precision.to, number_formats(),
                               "the type that nodes compute in, or that weights are stored in");
  options.value("--plan", arguments.plan, "FILE", "precisions by node, as `thaw plan` writes them");
  options.list("--keep", arguments.convert.keep, "PATTERN,…",
               "nodes to leave unchanged, by name or operator: '*lm_head*'");
  options.choice<bool>("--io", arguments.convert.convert_io, {{"keep", false}, {"convert", true}},
                       "the types of inputs and outputs: keep them with Casts, or convert them too (keep)");
}

}  // namespace

Action define_convert(Options& options) {
  auto arguments = std::make_shared<ConvertArguments>();
  options.use("Use it for f16, bf16, INT8, INT4 and below; with --data it calibrates on samples and measures on them.");
  add_model(options, arguments->model);
  add_formats(options, *arguments);
  add_targets(options, arguments->target, "the backend whose operators and forms the result may have (portable)");
  options.flag("--constant-weights", arguments->convert.constant_weights,
               "make weights that are inputs too constants, and no longer inputs");
  options.flag("--no-optimize", arguments->no_optimize, "do not run `thaw optimize` first");
  options.heading("Calibration");
  options.text(
      "--data", [arguments](const std::string& path) { arguments->convert.data = path; }, "PATH",
      "samples: .npz files of inputs by name; with --for or --resize images or recordings");
  options.text(
      "--held-out", [arguments](const std::string& path) { arguments->convert.held_out = path; }, "PATH",
      "samples that measure the result, and that nothing is chosen by");
  add_prompts(options, arguments->prompts, "calibrate with");
  add_int8(options, arguments->convert.precision.int8);
  BlockOptions& blocks = arguments->convert.precision.blocks;
  add_blocks(options, blocks, true, "search; with --data gptq below 8 bits");
  options.choice<BlockForm>("--form", blocks.form, {{"matmulnbits", BlockForm::kMatMulNBits}, {"qdq", BlockForm::kQdq}},
                            "MatMulNBits, or ONNX's DequantizeLinear (what the target takes; matmulnbits without one)");
  add_preprocessing(options);
  add_model_output(options, arguments->output, "f16.onnx, NAME.int8.onnx, …,");
  add_check(options, arguments->no_check, arguments->feeds);
  add_all(options, arguments->all, "print every node, with the reason where it is unchanged");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  rename_preprocessing(options);
  options.renamed("--explain", "--all");
  options.common(
      {"--output", "--to", "--data", "--for", "--keep", "--target", "--dynamic", "--block", "--plan", "--report"});
  options.examples(
      "thaw convert model.onnx --to f16\n"
      "thaw convert vision.onnx --to int8 --data photos/ --for qwen2_5_vl -o vision_int8.onnx\n"
      "thaw convert model.onnx --to int4 --data samples/ --held-out others/ --report int4.html");
  return [arguments, &options] {
    if (arguments->plan.empty()) require_fitting(options, arguments->convert.precision);
    ConvertOptions& convert = arguments->convert;
    BlockOptions& chosen = convert.precision.blocks;
    fit(options, convert.precision, arguments->target);
    if (arguments->plan.empty() && !options.given("--method"))
      chosen.method =
          default_method(convert.precision.to, !convert.data.empty() || arguments->prompts.any(), chosen.real_zeros);
    return convert_model(*arguments, options);
  };
}

}  // namespace thaw::cli
