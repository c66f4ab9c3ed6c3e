// thaw inspect: every tensor's dims as expressions of the inputs; as text, as a page with the graph, or in a copy of the model.
#include "thaw/inspect.h"

#include <memory>
#include <optional>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct InspectArguments {
  std::string model, set, report;
  OutputArguments output;
  bool annotate = false;
  InspectOptions inspect;
  Format format = Format::kText;
};

void require_annotation(const InspectArguments& arguments) {
  if (arguments.annotate != arguments.output.path.empty()) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = arguments.annotate ? "no file to write to is given" : "-o says where to write, but not what",
               .where = "thaw inspect",
               .expected = "--annotate and -o OUT together",
               .next = arguments.annotate ? "name the file to write" : "say --annotate too"});
}

int inspect_model(const InspectArguments& arguments) {
  require_annotation(arguments);
  const ReportFile page(arguments.report, {arguments.model, arguments.output.path});
  InspectOptions how = arguments.inspect;
  how.sizes = verbs::parse_sizes(arguments.set, "--set");
  const Model& model = until_exit(Model::load(arguments.model));
  page.require_other(model.data_files());
  std::optional<Annotation> annotation;
  if (arguments.annotate) annotation = annotate(until_exit(model.clone()), arguments.output.output());
  const Annotation* made = annotation ? &*annotation : nullptr;
  page.write_one([&] { return inspect_html(model, how); }, [&] { return inspect_json(model, how, made); });
  write_output(arguments.format == Format::kJson ? inspect_json(model, how, made)
                                                 : inspect_text(model, how, text_options(), made));
  return made && !made->accepted() ? kFindings : kFine;
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
  add_report(options, arguments->report);
  options.flag("--annotate", arguments->annotate,
               "write a copy that declares the sizes of all tensors, for any viewer");
  options.exclude("--annotate", "--set");
  options.value("-o,--output", arguments->output.path, "FILE", "with --annotate: the file to write");
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  add_limits(options, Runs::kLoadsResult);
  add_format(options, arguments->format);
  options.examples(
      "thaw inspect detector.onnx\n"
      "thaw inspect detector.onnx --values --set height=640,width=480\n"
      "thaw inspect detector.onnx --cost --set height=640,width=480\n"
      "thaw inspect detector.onnx --report graph.html\n"
      "thaw inspect detector.onnx --annotate -o annotated.onnx\n"
      "thaw inspect detector.onnx --format json");
  return [arguments] { return inspect_model(*arguments); };
}

}  // namespace thaw::cli
