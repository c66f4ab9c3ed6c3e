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

struct BatchArguments {
  std::string model, sample, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false;
  BatchOptions batch;
  Format format = Format::kText;
};

int batch_model(const BatchArguments& arguments) {
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path});
  BatchOptions how = arguments.batch;
  how.feeds = arguments.feeds.feeds();
  how.sample = verbs::parse_sizes(arguments.sample, "--sample");
  how.check = !arguments.no_check;
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const BatchReport report = batch(model, how, arguments.output.output());
  file.write(report);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_batch(Options& options) {
  auto arguments = std::make_shared<BatchArguments>();
  add_model(options, arguments->model);
  options.required("-o,--output", arguments->output.path, "FILE", "the file to write");
  options.value("--name", arguments->batch.name, "NAME",
                "what the new size is called; batch by default: a name, no number");
  options.list("--inputs", arguments->batch.inputs, "NAME,…",
               "the inputs that differ from sample to sample; all by default");
  options.value("--sample", arguments->sample, "SPEC", "sizes that are fixed in one sample: 'input_dim0=1'");
  options.flag("--new-axis", arguments->batch.new_axis,
               "add a batch axis to inputs that begin with a fixed 1, or with a batch, too");
  options.flag("--allow-loop", arguments->batch.allow_loop,
               "run operators without a batch rule sample by sample, in a Scan");
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check,
               "do not run the result beside the model, sample by sample, and write it unproven");
  add_values(options, arguments->feeds,
             "the elements of a small input of one sample, for the check; the rest is drawn");
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw batch detector.onnx -o batched.onnx\n"
      "thaw batch vad.onnx -o batched.onnx --inputs input,state");
  return [arguments] { return batch_model(*arguments); };
}

}  // namespace thaw::cli
