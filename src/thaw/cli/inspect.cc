// thaw inspect: every tensor's dims as expressions of the inputs.
#include <memory>

#include <unistd.h>

#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/report/inspection.h"

namespace thaw::cli {
namespace {

struct InspectArguments {
  std::string model;
  std::string set;
  report::InspectionView view;
  Format format = Format::kText;
};

int inspect(const InspectArguments& options) {
  const ir::Model& model = *until_exit(ir::load(options.model));
  const report::Inspection& seen = until_exit(report::inspect(model, parse_sizes(options.set, "--set")));
  write_output(options.format == Format::kJson
                   ? report::inspection_json(seen, options.view)
                   : report::inspection_text(seen, options.view, report::Style::of(STDOUT_FILENO)));
  return kFine;
}

}  // namespace

Action define_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectArguments>();
  add_model(app, options->model);
  app.add_flag("--values", options->view.values, "list every tensor, and the elements of small integer ones");
  app.add_flag("--weights", options->view.weights, "list the weights too");
  app.add_flag("--cost", options->view.cost, "what the nodes compute and move, as expressions of the inputs' sizes");
  app.add_option("--only", options->view.only, "list the tensors whose name matches, such as 'layers.0.*'")
      ->type_name("PATTERN");
  app.add_option("--set", options->set, "look at the model at these sizes, such as h=640,w=480")->type_name("SIZES");
  add_limits(app, Runs::kNothing);
  add_format(app, options->format);
  app.footer(
      "thaw inspect detector.onnx\n"
      "thaw inspect detector.onnx --values --set height=640,width=480\n"
      "thaw inspect detector.onnx --cost --set height=640,width=480\n"
      "thaw inspect detector.onnx --format json");
  return [options] { return inspect(*options); };
}

}  // namespace thaw::cli
