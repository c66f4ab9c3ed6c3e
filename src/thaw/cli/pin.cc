// thaw pin: a model for chosen sizes, frozen on purpose.
#include "thaw/pin.h"

#include <memory>

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

constexpr std::string_view kPinnedName = "pinned.onnx";

struct PinArguments {
  std::string model, report;
  std::vector<std::string> sizes;
  FeedArguments values, feeds;
  OutputArguments output;
  bool no_check = false;
  PinOptions pin;
  Format format = Format::kText;
};

// Each of several has its sizes in its name, so that nobody knows whether these are there already.
OutputArguments output_of(const PinArguments& arguments, size_t models) {
  const OutputArguments& output = arguments.output;
  if (models > 1 && output.path.empty() && !output.dry_run)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} models are asked for, and no name for them is given", models),
                 .where = "thaw pin",
                 .expected = "-o OUT.onnx, to which the sizes of each are added",
                 .next = "name it"});
  return output.beside(arguments.model, kPinnedName);
}

int pin_model(const PinArguments& arguments) {
  std::vector<PinOptions> each;
  for (const NamedSizes& sizes : verbs::parse_points(arguments.sizes, "--sizes")) {
    PinOptions& how = each.emplace_back(arguments.pin);
    how.sizes = sizes;
    how.check = !arguments.no_check;
    how.values = arguments.values.feeds();
    how.feeds = arguments.feeds.feeds();
  }
  const OutputArguments output = output_of(arguments, each.size());
  const ReportFile file(arguments.report, {arguments.model, output.path});
  const Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const PinnedModels report = pin_each(model, each, output.output());
  file.write(report);
  print(report, arguments.format);
  return report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_pin(Options& options) {
  auto arguments = std::make_shared<PinArguments>();
  options.use("Use it for backends that want static shapes, or one model for each size.");
  add_model(options, arguments->model);
  options.heading("Sizes");
  options.texts("--sizes", arguments->sizes, "SPEC",
                "the sizes: 'batch=1,height=336'; for several models 'height=320|640' or 'h=1,w=2; h=3,w=4'");
  add_values(options, arguments->values, "the elements of an input, which becomes a constant");
  add_max_growth(options, arguments->pin.max_growth);
  add_model_output(options, arguments->output, kPinnedName);
  options.heading("Check");
  options.flag("--no-check", arguments->no_check, "do not compare the result with the original");
  add_input(options, arguments->feeds);
  options.texts("--check-values", arguments->feeds.values, "NAME=1,22,30",
                "the elements of a small input that stays; what is not given is drawn");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--dims", "--sizes");
  options.renamed("--feed", "--check-values");
  options.common({"--output", "--in-place", "--dry-run", "--sizes", "--values", "--report", "--no-check"});
  options.examples(
      "thaw pin vision.onnx --sizes 'batch=1,height=336,width=336'\n"
      "thaw pin vision.onnx --sizes 'patches=576' --values 'grid_thw=1,24,24' -o vision_24.onnx\n"
      "thaw pin detector.onnx --sizes 'h=320,w=320; h=640,w=640' -o detector.onnx");
  return [arguments] { return pin_model(*arguments); };
}

}  // namespace thaw::cli
