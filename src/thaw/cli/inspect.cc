// thaw inspect: every tensor's dims as expressions of the inputs; as text, as a page with the graph, or in a copy of the model.
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/core/error.h"
#include "thaw/report/graph_page.h"
#include "thaw/report/inspection.h"
#include "thaw/report/printable.h"
#include "thaw/rewrite/annotate.h"

namespace thaw::cli {
namespace {

struct InspectArguments {
  std::string model, set, report, output;
  bool annotate = false;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  report::InspectionView view;
  Format format = Format::kText;
};

// A copy of the model that declares what was inferred.
struct Annotated {
  size_t tensors = 0;
  Written files;
};

void require_annotation(const InspectArguments& options, ir::Model& model) {
  if (options.annotate == options.output.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = options.annotate ? "no file to write to is given" : "-o says where to write, but not what",
                 .where = "thaw inspect",
                 .expected = "--annotate and -o OUT together",
                 .next = options.annotate ? "name the file to write" : "say --annotate too"});
  }
  if (!options.annotate) return;
  options.saving.require(model, options.output);
  rewrite::require_renames(model, options.saving.renames());
}

Annotated annotate(ir::Model& model, const report::Inspection& seen, const InspectArguments& options) {
  Annotated made;
  made.tensors = rewrite::annotate(model, seen.result, *seen.scope);
  rewrite::rename_sizes(model, options.saving.renames());
  SaveOptions save;
  save.external = options.external;
  made.files = ir::save(model, options.output, save);
  return made;
}

std::string json_of(const report::Inspection& seen, const InspectArguments& options,
                    const std::optional<Annotated>& made) {
  return report::inspection_json(seen, options.view, [&](report::JsonWriter& json) {
    if (!made) return;
    json.member("annotated", made->tensors);
    write_output_member(json, made->files);
    write_files_member(json, made->files);
  });
}

std::string text_of(const report::Inspection& seen, const InspectArguments& options,
                    const std::optional<Annotated>& made) {
  std::string text = report::inspection_text(seen, options.view, report::Style::of(STDOUT_FILENO));
  if (made)
    text += fmt::format("\nannotated {}\n{}", report::counted(made->tensors, "tensor"), written_text(made->files));
  return text;
}

int inspect(const InspectArguments& options) {
  ir::Model& model = *until_exit(ir::load(options.model));
  require_annotation(options, model);
  ReportFile page(options.report, {options.model, options.output});
  page.require_other(ir::data_files_of(model));
  const report::Inspection& seen = until_exit(report::inspect(model, parse_sizes(options.set, "--set")));
  std::optional<Annotated> made;
  if (options.annotate) made = annotate(model, seen, options);
  page.write(options.report.empty() ? std::string() : json_of(seen, options, made),
             [&] { return report::inspection_page(seen); });
  write_output(options.format == Format::kJson ? json_of(seen, options, made) : text_of(seen, options, made));
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
  auto* set = app.add_option("--set", options->set, "look at the model at these sizes, such as h=640,w=480");
  set->type_name("SIZES");
  add_report(app, options->report);
  app.add_flag("--annotate", options->annotate, "write a copy that declares the sizes of all tensors, for any viewer")
      ->excludes(set);
  app.add_option("-o,--output", options->output, "with --annotate: the file to write")->type_name("FILE");
  add_external(app, options->external);
  add_save_options(app, options->saving);
  add_limits(app, Runs::kNothing);
  add_format(app, options->format);
  app.footer(
      "thaw inspect detector.onnx\n"
      "thaw inspect detector.onnx --values --set height=640,width=480\n"
      "thaw inspect detector.onnx --cost --set height=640,width=480\n"
      "thaw inspect detector.onnx --report graph.html\n"
      "thaw inspect detector.onnx --annotate -o annotated.onnx\n"
      "thaw inspect detector.onnx --format json");
  return [options] { return inspect(*options); };
}

}  // namespace thaw::cli
