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
  std::string model, reference, report;
  std::vector<std::string> sizes, names;
  MediaArguments media;
  bool all = false;
  FeedArguments feeds;
  VerifyOptions verify;
  Format format = Format::kText;
};

int verify_model(const VerifyArguments& arguments, const Options& options) {
  const ReportFile page(arguments.report, {arguments.model, arguments.reference});
  VerifyOptions how = arguments.verify;
  how.model = arguments.model;
  how.reference = arguments.reference;
  how.feeds = arguments.feeds.feeds();
  feed_media(arguments.media, options, arguments.model, how.feeds);
  verbs::add_sizes(arguments.sizes, how);
  how.how.names = verbs::parse_names(arguments.names);
  ProgressLine line("running at size");
  how.progress = [&](size_t done, size_t total) { line.show(done, total); };
  const VerifyReport report = verify(how);
  line.clear();
  page.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_verify(Options& options) {
  auto arguments = std::make_shared<VerifyArguments>();
  VerifyOptions& verify = arguments->verify;
  options.use("Use it to prove a result: it compares every output, at sizes that it chooses or that you give.");
  add_model(options, arguments->model);
  options.arguments("FILE", arguments->media.files, "FILE", "images or recordings to run on, as for `thaw inputs`",
                    false);
  options.heading("Comparison");
  options.value("--against", arguments->reference, "FILE",
                "the reference: a model, an .npz file of inputs and outputs, or a folder of them");
  add_providers(options, "--against-provider", verify.how.providers,
                "run the reference with this execution provider; without --against, the model itself");
  options.flag("--where", verify.where, "where outputs differ, find the first tensors inside the models that do");
  options.value("--atol", verify.tolerance.absolute, "X", "absolute tolerance (1e-4; 16-bit floats 1e-2)", kTolerance);
  options.value("--rtol", verify.tolerance.relative, "X", "relative tolerance (1e-3; 16-bit floats 1e-2)", kTolerance);
  options.value("--cosine", verify.tolerance.cosine, "X",
                "the least cosine similarity of an output; alone, it replaces the tolerances", Bounds{-1, 1});
  options.list("--outputs", verify.outputs, "NAME,…", "the outputs to compare (all)");
  options.value("--mask", verify.mask, "NAME", "an input [batch, length]: do not compare outputs where it is 0");
  options.texts("--map", arguments->names, "A=B", "the model's input or output A is the reference's B");
  options.flag("--per-sample", verify.how.per_sample, "run the reference once for each sample of axis 0");
  options.flag("--cast", verify.how.cast, "convert inputs and outputs of other element types");
  options.heading("Proof");
  options.flag("--prove", verify.prove,
               "prove each output equal at every size, or at --sizes; or say where that is open");
  options.text(
      "--evidence", [&verify](const std::string& path) { verify.evidence = path; }, "FILE",
      "write the steps of the proof, with --prove");
  options.text(
      "--replay", [&verify](const std::string& path) { verify.replay = path; }, "FILE",
      "check the steps that --evidence wrote, without a search and without running");
  options.writes({"--evidence"});
  options.heading("Sizes");
  options.texts("--sizes", arguments->sizes, "SPEC",
                "the sizes to run at, and to prove: 'n=1|3,h=320..640:32'; sizes that are not given are chosen");
  options.value("--points", verify.points, "N", "sizes to choose from wide ranges (6)", Bounds{1, 100000});
  options.heading("Inputs");
  add_feeds(options, arguments->feeds);
  add_media(options, arguments->media);
  add_preprocessing(options);
  add_whole_images(options, arguments->media);
  add_session(options, verify.how.session);
  add_all(options, arguments->all, "print a table of every size, not of those that differ");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--sweep", "--sizes");
  options.common(
      {"--against", "--sizes", "--atol", "--rtol", "--input", "--values", "--outputs", "--prove", "--all", "--report"});
  options.examples(
      "thaw verify fixed.onnx --against original.onnx --sizes 'height=320|352,width=224|416'\n"
      "thaw verify batched.onnx --against single.onnx --per-sample --sizes 'batch=3|5'\n"
      "thaw verify int8.onnx photo.jpg --against f32.onnx --resize letterbox:640x640 --cosine 0.99");
  return [arguments, &options] { return verify_model(*arguments, options); };
}

}  // namespace thaw::cli
