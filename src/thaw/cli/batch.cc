// thaw batch: a model for one sample becomes the same model over a batch.
#include "thaw/batch.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kBatchedName = "batched.onnx";

struct BatchArguments {
  std::string model, sizes, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false;
  BatchOptions batch;
  Format format = Format::kText;
};

int batch_model(const BatchArguments& arguments) {
  const OutputArguments output = arguments.output.beside(arguments.model, kBatchedName);
  const ReportFile file(arguments.report, {arguments.model, output.path});
  BatchOptions how = arguments.batch;
  how.feeds = arguments.feeds.feeds();
  how.sample = verbs::parse_sizes(arguments.sizes, "--sizes");
  how.check = !arguments.no_check;
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const BatchReport report = batch(model, how, output.output());
  file.write(report);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_batch(Options& options) {
  auto arguments = std::make_shared<BatchArguments>();
  options.use("Use it where a model takes one sample and several are to run at once.");
  add_model(options, arguments->model);
  options.heading("Batch");
  options.value("--name", arguments->batch.name, "NAME", "the name of the new size (batch)");
  options.list("--inputs", arguments->batch.inputs, "NAME,…", "the inputs that differ between samples (all)");
  options.flag("--new-axis", arguments->batch.new_axis,
               "add a batch axis also to inputs whose first axis is a fixed 1 or a batch");
  options.flag("--allow-loop", arguments->batch.allow_loop,
               "run operators without a batch rule sample by sample, in a Scan");
  options.heading("Sizes");
  options.value("--sizes", arguments->sizes, "SPEC", "sizes that are fixed in one sample: 'input_dim0=1'");
  add_model_output(options, arguments->output, kBatchedName);
  add_check(options, arguments->no_check, arguments->feeds);
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--sample", "--sizes");
  options.common({"--output", "--inputs", "--sizes", "--name", "--allow-loop", "--dry-run"});
  options.examples(
      "thaw batch detector.onnx\n"
      "thaw batch vad.onnx -o batched.onnx --inputs input,state\n"
      "thaw batch decoder.onnx --sizes 'input_dim0=1' --allow-loop");
  return [arguments] { return batch_model(*arguments); };
}

}  // namespace thaw::cli
