// thaw batch: a model for one sample becomes the same model over a batch.
#include "thaw/batch/batch.h"

#include <memory>

#include "thaw/cli/batch_report.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/samples.h"
#include "thaw/run/input_text.h"
#include "thaw/run/session.h"

namespace thaw::cli {
namespace {

struct BatchArguments {
  std::string model, output, sample, report;
  std::vector<std::string> values;
  bool no_check = false;
  BatchOptions batch;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

int batch_model(const BatchArguments& options) {
  ReportFile file(options.report, {options.model, options.output});
  FeedOptions feeds;
  run::add_values(options.values, feeds);
  auto model = ir::load(options.model);
  options.saving.require(*model, options.output);
  file.require_other(ir::data_files_of(*model));
  BatchOptions how = options.batch;
  how.sample = parse_sizes(options.sample, "--sample");
  BatchRun run{.model = options.model,
               .output = options.output,
               .report = {},
               .ports = {},
               .check = !options.no_check,
               .checked = {}};
  if (run.check) run::prepare_sessions();
  note_before(*model, run.ports);
  run.report = batching::batch(*model, how);
  rewrite::require_renames(*model, options.saving.renames());
  note_after(*model, run.ports);
  if (run.check) run.checked = confirm::compare_with_samples(*model, *ir::load(options.model), how, feeds);
  run.written = !run.check || run.checked.proves();
  SaveOptions save;
  save.external = options.external;
  if (run.written) rewrite::rename_sizes(*model, options.saving.renames());
  if (run.written) run.files = ir::save(*model, options.output, save);
  const std::string json = batch_json(run);
  file.write(json, [&] { return batch_page(run); });
  write_output(options.format == Format::kJson ? json : batch_text(run));
  return run.written ? kFine : kFindings;
}

}  // namespace

Action define_batch(CLI::App& app) {
  auto options = std::make_shared<BatchArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the file to write")->required()->type_name("FILE");
  app.add_option("--name", options->batch.name, "what the new size is called; batch by default: a name, no number")
      ->type_name("NAME");
  add_list(app, "--inputs", options->batch.inputs, "NAME,…",
           "the inputs that differ from sample to sample; all by default");
  app.add_option("--sample", options->sample, "sizes that are fixed in one sample: 'input_dim0=1'")->type_name("SPEC");
  app.add_flag("--new-axis", options->batch.new_axis,
               "add a batch axis to inputs that begin with a fixed 1, or with a batch, too");
  app.add_flag("--allow-loop", options->batch.allow_loop,
               "run operators without a batch rule sample by sample, in a Scan");
  add_external(app, options->external);
  add_save_options(app, options->saving);
  app.add_flag("--no-check", options->no_check,
               "do not run the result beside the model, sample by sample, and write it unproven");
  add_texts(app, "--values", options->values, "NAME=1,22,30",
            "the elements of a small input of one sample, for the check; the rest is drawn");
  add_report(app, options->report);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw batch detector.onnx -o batched.onnx\n"
      "thaw batch vad.onnx -o batched.onnx --inputs input,state");
  return [options] { return batch_model(*options); };
}

}  // namespace thaw::cli
