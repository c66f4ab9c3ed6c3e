// thaw diff: what differs between two models.
#include <limits>
#include <memory>

#include <unistd.h>

#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/report/graph_page.h"
#include "thaw/report/model_diff.h"

namespace thaw::cli {
namespace {

constexpr size_t kMostListed = 20;  // of each kind, unless --all

struct DiffArguments {
  std::string a, b, report;
  bool no_weights = false;
  bool no_infer = false;
  bool all = false;
  Format format = Format::kText;
};

int diff(const DiffArguments& options) {
  const ir::Model& a = *until_exit(ir::load(options.a));
  const ir::Model& b = *until_exit(ir::load(options.b));
  ReportFile page(options.report, {options.a, options.b});
  page.require_other(ir::data_files_of(a));
  page.require_other(ir::data_files_of(b));
  report::DiffOptions what{.weights = !options.no_weights, .infer = !options.no_infer, .progress = {}};
  ProgressLine line("comparing weights");
  what.progress = [&](uint64_t done, uint64_t total) { line.show(done, total); };
  const report::ModelDiff& found = until_exit(report::diff(a, b, what));
  line.clear();
  page.write(options.report.empty() ? std::string() : report::diff_json(found, options.a, options.b),
             [&] { return report::diff_page(found, a, b); });
  const size_t most = options.all ? std::numeric_limits<size_t>::max() : kMostListed;
  write_output(options.format == Format::kJson
                   ? report::diff_json(found, options.a, options.b)
                   : report::diff_text(found, options.a, options.b, report::Style::of(STDOUT_FILENO), most));
  return found.equal() ? kFine : kFindings;
}

}  // namespace

Action define_diff(CLI::App& app) {
  auto options = std::make_shared<DiffArguments>();
  add_model(app, options->a, "A", "the one ONNX file");
  add_model(app, options->b, "B", "the other");
  app.add_flag("--no-weights", options->no_weights, "compare only the types of weights, not their values");
  app.add_flag("--no-infer", options->no_infer, "do not compare inferred dims");
  app.add_flag("--all", options->all, "print everything, not the first 20 of each kind");
  add_report(app, options->report);
  add_limits(app, Runs::kNothing);
  add_format(app, options->format);
  app.footer(
      "thaw diff model.onnx fixed.onnx\n"
      "thaw diff model.onnx fixed.onnx --report diff.html\n"
      "thaw diff model.onnx quantized.onnx --no-weights --format json");
  return [options] { return diff(*options); };
}

}  // namespace thaw::cli
