// thaw inspect: every tensor's dims as expressions of the inputs.
#include "thaw/inspect.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct InspectArguments {
  std::string model, set;
  InspectOptions inspect;
  Format format = Format::kText;
};

int inspect_model(const InspectArguments& arguments) {
  InspectOptions how = arguments.inspect;
  how.sizes = verbs::parse_sizes(arguments.set, "--set");
  const Model& model = until_exit(Model::load(arguments.model));
  write_output(arguments.format == Format::kJson ? inspect_json(model, how)
                                                 : inspect_text(model, how, text_options()));
  return kFine;
}

}  // namespace

Action define_inspect(Options& options) {
  auto arguments = std::make_shared<InspectArguments>();
  add_model(options, arguments->model);
  options.flag("--values", arguments->inspect.values, "list every tensor, and the elements of small integer ones");
  options.flag("--weights", arguments->inspect.weights, "list the weights too");
  options.flag("--cost", arguments->inspect.cost,
               "what the nodes compute and move, as expressions of the inputs' sizes");
  options.value("--only", arguments->inspect.only, "PATTERN",
                "list the tensors whose name matches, such as 'layers.0.*'");
  options.value("--set", arguments->set, "SIZES", "look at the model at these sizes, such as h=640,w=480");
  add_limits(options, Runs::kNothing);
  add_format(options, arguments->format);
  options.examples(
      "thaw inspect detector.onnx\n"
      "thaw inspect detector.onnx --values --set height=640,width=480\n"
      "thaw inspect detector.onnx --cost --set height=640,width=480\n"
      "thaw inspect detector.onnx --format json");
  return [arguments] { return inspect_model(*arguments); };
}

}  // namespace thaw::cli
