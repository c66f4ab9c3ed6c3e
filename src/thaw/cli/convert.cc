// thaw convert: a model in fewer bits, and what that costs.
#include "thaw/convert.h"

#include <memory>
#include <optional>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

struct ConvertArguments {
  std::string model, plan, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false, no_optimize = false, explain = false;
  std::optional<OptimizeTarget> target;
  ConvertOptions convert;
  Format format = Format::kText;
};

int convert_model(const ConvertArguments& arguments, std::vector<std::string> fed) {
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path, arguments.plan});
  ConvertOptions how = arguments.convert;
  if (!arguments.plan.empty()) read_plan(arguments.plan, how);
  if (how.precision.to == NumberFormat::kKeep && how.plan.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "nothing says what to convert to",
                 .where = "thaw convert",
                 .expected = "--to f16, bf16, int8, int4, int3 or int2, or --plan plan.json"});
  how.optimize = !arguments.no_optimize;
  how.check = !arguments.no_check;
  how.target = arguments.target.value_or(OptimizeTarget::kPortable);
  how.feeds = arguments.feeds.feeds();
  how.fed = std::move(fed);
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const ConvertReport report = convert(model, how, arguments.output.output());
  file.write(report);
  print(report, arguments.format, arguments.explain);
  return report.accepted() && report.untaken.empty() ? kFine : kFindings;
}

void add_formats(Options& options, ConvertArguments& arguments) {
  options.choice<NumberFormat>("--to", arguments.convert.precision.to, number_formats(),
                               "what its nodes compute with, or what its weights are stored in");
  options.value("--plan", arguments.plan, "FILE", "JSON that gives nodes a precision by name (docs/converting.md)");
  options.list("--keep", arguments.convert.keep, "PATTERN",
               "nodes that stay as they are, by name or operator, such as '*lm_head*'");
  options.choice<bool>("--io", arguments.convert.convert_io, {{"keep", false}, {"convert", true}},
                       "inputs and outputs keep their types, with Casts, or are converted too (keep)");
}

// What samples show of inputs is worth most where codes are few (docs/converting.md has the figures).
void choose_method(ConvertOptions& convert) {
  const NumberFormat to = convert.precision.to;
  const bool has_few = to == NumberFormat::kInt4 || to == NumberFormat::kInt3 || to == NumberFormat::kInt2;
  if (has_few && !convert.data.empty() && !convert.precision.blocks.real_zeros)
    convert.precision.blocks.method = BlockMethod::kGptq;
}

}  // namespace

Action define_convert(Options& options) {
  auto arguments = std::make_shared<ConvertArguments>();
  add_model(options, arguments->model);
  options.required("-o,--output", arguments->output.path, "FILE", "the file to write");
  add_formats(options, *arguments);
  BlockOptions& blocks = arguments->convert.precision.blocks;
  add_blocks(options, blocks, true, "search; with --data gptq below 8 bits");
  options.choice<BlockForm>(
      "--form", blocks.form, {{"matmulnbits", BlockForm::kMatMulNBits}, {"qdq", BlockForm::kQdq}},
      "ONNX Runtime's operators, or ONNX's DequantizeLinear (matmulnbits; --target portable: qdq)");
  add_int8(options, arguments->convert.precision.int8);
  options.text(
      "--data", [arguments](const std::string& path) { arguments->convert.data = path; }, "PATH",
      "samples: .npz files with the inputs by name; with --for images or recordings");
  options.text(
      "--held-out", [arguments](const std::string& path) { arguments->convert.held_out = path; }, "PATH",
      "the same, of samples that nothing is chosen by: these judge the result");
  add_target(options, arguments->target, "whose operators the result may have (portable)");
  add_feed_words(options);
  options.flag("--constant-weights", arguments->convert.constant_weights,
               "weights that are inputs too become constants, and are no inputs any more");
  options.flag("--no-optimize", arguments->no_optimize, "do not run `thaw optimize` on it first");
  options.flag("--explain", arguments->explain, "print every node, and why what stays does");
  add_report(options, arguments->report);
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the result beside the model");
  add_values(options, arguments->feeds);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw convert model.onnx -o model_f16.onnx --to f16\n"
      "thaw convert model.onnx -o model_f16.onnx --to f16 --data samples/\n"
      "thaw convert model.onnx -o model_bf16.onnx --to bf16 --io convert\n"
      "thaw convert model.onnx -o model_int8.onnx --to int8 --data samples/\n"
      "thaw convert vision.onnx -o vision_int8.onnx --to int8 --data photos/ --for qwen2_5_vl\n"
      "thaw convert model.onnx -o model_int8.onnx --to int8 --dynamic\n"
      "thaw convert model.onnx -o model_int4.onnx --to int4 --block 64\n"
      "thaw convert model.onnx -o model_int4.onnx --to int4 --data samples/ --held-out others/\n"
      "thaw convert model.onnx -o mixed.onnx --plan plan.json");
  return [arguments, &options] {
    if (arguments->plan.empty()) require_fitting(options, arguments->convert.precision);
    // What was said to be portable has no operators but ONNX's.
    if (arguments->target == OptimizeTarget::kPortable && !options.given("--form"))
      arguments->convert.precision.blocks.form = BlockForm::kQdq;
    if (arguments->plan.empty() && !options.given("--method")) choose_method(arguments->convert);
    return convert_model(*arguments, given_feed_words(options));
  };
}

}  // namespace thaw::cli
