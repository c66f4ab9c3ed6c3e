// thaw inspect: every tensor's dims as expressions of the inputs; as text, as a page with the graph, or in a copy of the model.
#include "thaw/inspect.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kAnnotatedName = "annotated.onnx";

struct InspectArguments {
  std::string model, sizes, report;
  OutputArguments output;
  bool annotate = false;
  InspectOptions inspect;
  Format format = Format::kText;
};

void require_annotation(const InspectArguments& arguments) {
  if (arguments.annotate || (arguments.output.path.empty() && !arguments.output.in_place)) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("{} says where to write, but not what",
                                                                arguments.output.in_place ? "--in-place" : "-o"),
                                            .where = "thaw inspect",
                                            .expected = "--annotate too",
                                            .next = "add it, or leave the option out"});
}

int inspect_model(const InspectArguments& arguments) {
  require_annotation(arguments);
  const OutputArguments output =
      arguments.annotate ? arguments.output.beside(arguments.model, kAnnotatedName) : OutputArguments();
  const ReportFile page(arguments.report, {arguments.model, output.path});
  InspectOptions how = arguments.inspect;
  how.sizes = verbs::parse_sizes(arguments.sizes, "--sizes");
  const Model& model = until_exit(Model::load(arguments.model));
  page.require_other(model.data_files());
  std::optional<Annotation> annotation;
  if (arguments.annotate) annotation = annotate(until_exit(model.clone()), output.output());
  const Annotation* made = annotation ? &*annotation : nullptr;
  page.write_one([&] { return inspect_html(model, how); }, [&] { return inspect_json(model, how, made); });
  write_output(arguments.format == Format::kJson ? inspect_json(model, how, made)
                                                 : inspect_text(model, how, text_options(), made));
  return made && !made->accepted() ? kFindings : kFine;
}

}  // namespace

Action define_inspect(Options& options) {
  auto arguments = std::make_shared<InspectArguments>();
  options.use("Use it to see which sizes are free, what each shape depends on, and what the model costs.");
  add_model(options, arguments->model);
  options.heading("Contents");
  options.flag("--tensors", arguments->inspect.tensors, "list every tensor, with the elements of small integer ones");
  options.flag("--weights", arguments->inspect.weights, "list the weights too");
  options.flag("--cost", arguments->inspect.cost, "operations and bytes moved, as expressions of the inputs' sizes");
  options.value("--only", arguments->inspect.only, "PATTERN", "list only tensors of such names: 'layers.0.*'");
  options.heading("Sizes");
  options.value("--sizes", arguments->sizes, "SPEC", "the sizes to inspect the model at: 'height=640,width=480'");
  add_output(options, arguments->output.path, kAnnotatedName);
  options.flag("--annotate", arguments->annotate, "write a copy that declares the shape of every tensor");
  options.writes({"--annotate"});
  options.exclude("--annotate", "--sizes");
  add_in_place(options, arguments->output);
  add_external(options, arguments->output);
  add_rename(options, arguments->output);
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options, Runs::kLoadsResult);
  options.renamed("--values", "--tensors");
  options.renamed("--set", "--sizes");
  options.common({"--tensors", "--cost", "--only", "--sizes", "--annotate", "--report", "--format"});
  options.examples(
      "thaw inspect detector.onnx\n"
      "thaw inspect detector.onnx --tensors --cost --sizes 'height=640,width=480'\n"
      "thaw inspect detector.onnx --report graph.html");
  return [arguments] { return inspect_model(*arguments); };
}

}  // namespace thaw::cli
