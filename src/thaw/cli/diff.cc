// thaw diff: what differs between two models.
#include "thaw/diff.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

struct DiffArguments {
  std::string a, b, report;
  bool no_weights = false, no_infer = false, all = false;
  Format format = Format::kText;
};

int diff_models(const DiffArguments& arguments) {
  const Model& a = until_exit(Model::load(arguments.a));
  const Model& b = until_exit(Model::load(arguments.b));
  const ReportFile page(arguments.report, {arguments.a, arguments.b});
  page.require_other(a.data_files());
  page.require_other(b.data_files());
  DiffOptions how{.weights = !arguments.no_weights, .infer = !arguments.no_infer};
  ProgressLine line("comparing weights");
  how.progress = [&](uint64_t done, uint64_t total) { line.show(done, total); };
  const ModelDiff& found = until_exit(diff(a, b, how));
  line.clear();
  page.write_one([&] { return to_html(found, a, b); }, [&] { return to_json(found); });
  print(found, arguments.format, arguments.all);
  return found.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_diff(Options& options) {
  auto arguments = std::make_shared<DiffArguments>();
  options.use("Use it to see what an exporter or a rewrite changed; `thaw verify` compares the numbers.");
  add_model(options, arguments->a, "A", "the one ONNX file");
  add_model(options, arguments->b, "B", "the other");
  options.heading("Comparison");
  options.flag("--no-weights", arguments->no_weights, "compare the types of weights, not their values");
  options.flag("--no-infer", arguments->no_infer, "do not compare inferred dims");
  add_all(options, arguments->all, "print every difference, not the first 20 of each kind");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options, Runs::kNothing);
  options.common({"--no-weights", "--no-infer", "--all", "--report", "--format"});
  options.examples(
      "thaw diff model.onnx fixed.onnx\n"
      "thaw diff model.onnx fixed.onnx --report diff.html\n"
      "thaw diff model.onnx quantized.onnx --no-weights --format json");
  return [arguments] { return diff_models(*arguments); };
}

}  // namespace thaw::cli
