// thaw verify: runs a model and its reference on the same inputs at several sizes and compares every output.
#include <memory>

#include "thaw/cli/failure_hint.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/verify_page.h"
#include "thaw/cli/verify_report.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/run/input_text.h"

namespace thaw::cli {
namespace {

struct VerifyArguments {
  std::string model, reference, sweep, sizes, mask, report;
  std::vector<std::string> names, outputs;
  size_t points = 0;
  bool cast = false, per_sample = false;
  std::optional<double> absolute, relative, cosine;
  RunOptions run;
  Format format = Format::kText;
};

VerifyReport report_of(const VerifyOptions& call) {
  try {
    return thaw::verify(call);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed || !error.parts().next.empty()) throw;
    throw with_rule(error, call.model.string());
  }
}

int verify(const VerifyArguments& options) {
  ReportFile page(options.report, {options.model, options.reference});
  VerifyOptions call;
  call.model = options.model;
  call.reference = options.reference;
  dim::Scope scope;
  std::vector<run::InputSpec> inputs;
  if (!options.run.input.empty()) inputs = confirm::model_inputs(*ir::load(options.model), scope);
  call.feeds = options.run.feeds(call.input_files, inputs);
  call.sweep = options.sweep;
  call.sizes = parse_sizes(options.sizes, "--sizes");
  call.points = options.points;
  call.outputs = options.outputs;
  call.mask = options.mask;
  call.how = {options.run.session, run::parse_names(options.names), options.cast, options.per_sample};
  call.tolerance = {options.absolute, options.relative, options.cosine};

  ProgressLine line("running at size");
  call.progress = [&](size_t done, size_t total) { line.show(done, total); };
  const VerifyReport report = report_of(call);
  line.clear();
  page.write(options.report.empty() ? std::string() : verify_json(call, report),
             [&] { return verify_page(call, report); });
  write_output(options.format == Format::kJson ? verify_json(call, report)
                                               : verify_text(call, report, report::Style::of(1)));
  return report.passed() ? kFine : kFindings;
}

}  // namespace

Action define_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyArguments>();
  add_model(app, options->model);
  app.add_option("--against", options->reference, "a model, a .npz file of inputs and outputs, or a folder of them")
      ->required()
      ->type_name("FILE");
  app.add_option("--sweep", options->sweep, "the sizes to run at: 'n=1|3,h=320..640:32'; groups apart by ';'")
      ->type_name("SPEC");
  app.add_option("--sizes", options->sizes,
                 "sizes that hold at every point, the rest being chosen: 'height=320,width=256'")
      ->type_name("SPEC");
  app.add_option("--points", options->points, "how many points to choose from wide ranges (6)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  app.add_option("--atol", options->absolute, "absolute tolerance (1e-4; 16-bit floats 1e-2)")->type_name("X");
  app.add_option("--rtol", options->relative, "relative tolerance (1e-3; 16-bit floats 1e-2)")->type_name("X");
  app.add_option("--cosine", options->cosine, "least cosine of an output; alone, it decides instead of the tolerances")
      ->type_name("X");
  add_list(app, "--outputs", options->outputs, "NAME", "compare these outputs only");
  app.add_option("--mask", options->mask, "an input [batch, length]: where it is 0, outputs are not compared")
      ->type_name("NAME");
  add_texts(app, "--map", options->names, "A=B", "the model's input or output A is B in the reference");
  app.add_flag("--per-sample", options->per_sample, "run the reference once for each sample along axis 0");
  app.add_flag("--cast", options->cast, "convert inputs and outputs of differing element types");
  add_run_options(app, options->run);
  add_report(app, options->report);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw verify fixed.onnx --against original.onnx --sweep 'height=320|352,width=224|416'\n"
      "thaw verify batched.onnx --against single.onnx --per-sample --sweep 'batch=3|5,height=320,width=256'\n"
      "thaw verify vision.onnx --against refs.npz --atol 5e-5");
  return [options] { return verify(*options); };
}

}  // namespace thaw::cli
