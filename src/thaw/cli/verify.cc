// thaw verify: runs a model and its reference on the same inputs at several sizes and compares every output.
#include "thaw/verify.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct VerifyArguments {
  std::string model, reference, sizes, report;
  std::vector<std::string> names;
  FeedArguments feeds;
  VerifyOptions verify;
  Format format = Format::kText;
};

int verify_model(const VerifyArguments& arguments) {
  const ReportFile page(arguments.report, {arguments.model, arguments.reference});
  VerifyOptions how = arguments.verify;
  how.model = arguments.model;
  how.reference = arguments.reference;
  how.feeds = arguments.feeds.feeds();
  how.sizes = verbs::parse_sizes(arguments.sizes, "--sizes");
  how.how.names = verbs::parse_names(arguments.names);
  ProgressLine line("running at size");
  how.progress = [&](size_t done, size_t total) { line.show(done, total); };
  const VerifyReport report = verify(how);
  line.clear();
  page.write(report);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_verify(Options& options) {
  auto arguments = std::make_shared<VerifyArguments>();
  VerifyOptions& verify = arguments->verify;
  add_model(options, arguments->model);
  options.required("--against", arguments->reference, "FILE",
                   "a model, a .npz file of inputs and outputs, or a folder of them");
  options.value("--sweep", verify.sweep, "SPEC", "the sizes to run at: 'n=1|3,h=320..640:32'; groups apart by ';'");
  options.value("--sizes", arguments->sizes, "SPEC",
                "sizes that hold at every point, the rest being chosen: 'height=320,width=256'");
  options.value("--points", verify.points, "N", "how many points to choose from wide ranges (6)", Bounds{1, 100000});
  options.value("--atol", verify.tolerance.absolute, "X", "absolute tolerance (1e-4; 16-bit floats 1e-2)", kTolerance);
  options.value("--rtol", verify.tolerance.relative, "X", "relative tolerance (1e-3; 16-bit floats 1e-2)", kTolerance);
  options.value("--cosine", verify.tolerance.cosine, "X",
                "least cosine of an output; alone, it decides instead of the tolerances", Bounds{-1, 1});
  options.list("--outputs", verify.outputs, "NAME", "compare these outputs only");
  options.value("--mask", verify.mask, "NAME", "an input [batch, length]: where it is 0, outputs are not compared");
  options.texts("--map", arguments->names, "A=B", "the model's input or output A is B in the reference");
  options.flag("--per-sample", verify.how.per_sample, "run the reference once for each sample along axis 0");
  options.flag("--cast", verify.how.cast, "convert inputs and outputs of differing element types");
  add_run_options(options, arguments->feeds, verify.how.session);
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw verify fixed.onnx --against original.onnx --sweep 'height=320|352,width=224|416'\n"
      "thaw verify batched.onnx --against single.onnx --per-sample --sweep 'batch=3|5,height=320,width=256'\n"
      "thaw verify vision.onnx --against refs.npz --atol 5e-5");
  return [arguments] { return verify_model(*arguments); };
}

}  // namespace thaw::cli
