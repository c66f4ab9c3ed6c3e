// thaw pin: a model for chosen sizes, frozen on purpose.
#include "thaw/pin.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct PinArguments {
  std::string model, report;
  std::vector<std::string> dims;
  FeedArguments values, feeds;
  OutputArguments output;
  bool no_check = false;
  PinOptions pin;
  Format format = Format::kText;
};

int pin_model(const PinArguments& arguments) {
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path});
  std::vector<std::string> dims = arguments.dims;
  if (dims.empty()) dims.emplace_back();
  std::vector<PinOptions> each;
  for (const std::string& text : dims) {
    PinOptions& how = each.emplace_back(arguments.pin);
    how.sizes = verbs::parse_sizes(text, "--dims");
    how.check = !arguments.no_check;
    how.values = arguments.values.feeds();
    how.feeds = arguments.feeds.feeds();
  }
  const Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const PinnedModels report = pin_each(model, each, arguments.output.output());
  file.write(report);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_pin(Options& options) {
  auto arguments = std::make_shared<PinArguments>();
  add_model(options, arguments->model);
  options.required("-o,--output", arguments->output.path, "FILE",
                   "the file to write; with several --dims, each has its sizes in its name");
  options.texts("--dims", arguments->dims, "SIZES",
                "the sizes, such as 'batch=1,height=336,width=336'; once for each model that is wanted");
  add_values(options, arguments->values, "the elements of an input that becomes a constant");
  add_max_growth(options, arguments->pin.max_growth);
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the result beside the model");
  options.texts("--feed", arguments->feeds.values, "NAME=1,22,30",
                "the elements of an input that stays, for the check; the rest is drawn");
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw pin vision.onnx --dims 'batch=1,height=336,width=336' -o vision_336.onnx\n"
      "thaw pin vision.onnx --dims 'patches=576' --values 'grid_thw=1,24,24' -o vision_24.onnx\n"
      "thaw pin detector.onnx --dims 'h=320,w=320' --dims 'h=640,w=640' -o detector.onnx");
  return [arguments] { return pin_model(*arguments); };
}

}  // namespace thaw::cli
