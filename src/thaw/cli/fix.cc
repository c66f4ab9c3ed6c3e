// thaw fix: applies the rewrites that are safe without a reference; with one, also those that it confirms.
#include "thaw/fix.h"

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

// With --reference.
struct ReferenceArguments {
  std::string reference;
  std::vector<std::string> at, added, cases;
  int tries = 200;
  Tolerance tolerance;
};

struct FixArguments {
  std::string model, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_sizes = false, no_chains = false, no_declarations = false, no_types = false, no_check = false, all = false;
  ReferenceArguments reference;
  Format format = Format::kText;
};

void refuse_without_reference(const ReferenceArguments& arguments) {
  const char* given = !arguments.at.empty()      ? "--at"
                      : !arguments.added.empty() ? "--add-input"
                      : !arguments.cases.empty() ? "--cases"
                                                 : nullptr;
  if (!given) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("{} says nothing without --reference", given),
               .where = "thaw fix",
               .expected = "--reference FILE.npz, the true model's inputs and outputs at other sizes",
               .next = "give it, or leave the option out"});
}

int fix_by_reference(const FixArguments& arguments, const FixOptions& fix, const ReportFile& file) {
  const ReferenceArguments& given = arguments.reference;
  FixReferenceOptions how{.at = verbs::parse_at(given.at),
                          .cases = given.cases,
                          .added = {},
                          .tolerance = given.tolerance,
                          .most_tries = given.tries,
                          .fix = fix};
  for (const std::string& text : given.added) how.added.push_back(verbs::parse_added_input(text));
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const FixReferenceReport report = fix_with_reference(model, given.reference, how, arguments.output.output());
  file.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() ? kFine : kFindings;
}

int fix_model(const FixArguments& arguments) {
  arguments.output.require_path("thaw fix");
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path, arguments.reference.reference});
  FixOptions how = {.sizes = !arguments.no_sizes,
                    .chains = !arguments.no_chains,
                    .declarations = !arguments.no_declarations,
                    .types = !arguments.no_types};
  if (!arguments.reference.reference.empty()) return fix_by_reference(arguments, how, file);
  refuse_without_reference(arguments.reference);
  how.check = !arguments.no_check && !arguments.output.dry_run;
  how.feeds = arguments.feeds.feeds();
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const FixReport report = fix(model, how, arguments.output.output());
  file.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() && !report.left_errors() ? kFine : kFindings;
}

void add_reference(Options& options, ReferenceArguments& arguments) {
  options.value("--reference", arguments.reference, "FILE",
                "what the true model was fed and gave at other sizes (.npz): confirms more rewrites");
  options.texts("--at", arguments.at, "NAME=1,22,30",
                "with a reference: the sizes of the export, values of an input or dims");
  options.texts("--add-input", arguments.added, "NAME:TYPE[DIMS]",
                "with a reference: an input that the exporter took out: 'grid_thw:int64[1,3]'");
  options.list("--cases", arguments.cases, "NAME,…", "with a reference: use these of its cases only");
  options.value("--tries", arguments.tries, "N", "with a reference: at most so many choices are run (200)",
                Bounds{1, 1000000});
  options.value("--atol", arguments.tolerance.absolute, "X", "with a reference: absolute tolerance, as for verify",
                kTolerance);
  options.value("--rtol", arguments.tolerance.relative, "X", "with a reference: relative tolerance, as for verify",
                kTolerance);
}

}  // namespace

Action define_fix(Options& options) {
  auto arguments = std::make_shared<FixArguments>();
  add_model(options, arguments->model);
  options.value("-o,--output", arguments->output.path, "FILE", "the file to write");
  options.flag("--dry-run", arguments->output.dry_run, "say what would change, and write nothing");
  options.flag("--keep-sizes", arguments->no_sizes, "leave frozen sizes as they are");
  options.flag("--keep-chains", arguments->no_chains, "leave chains of shape arithmetic as they are");
  options.flag("--keep-declarations", arguments->no_declarations, "leave declared names and shapes as they are");
  options.flag("--keep-types", arguments->no_types, "leave types that do not fit as they are");
  add_reference(options, arguments->reference);
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the result beside the model");
  add_check_feeds(options, arguments->feeds);
  options.flag("--all", arguments->all, "print every change, not the first few");
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw fix detector.onnx -o fixed.onnx\n"
      "thaw fix detector.onnx --dry-run --all\n"
      "thaw fix vision.onnx -o fixed.onnx --at 'grid_thw=1,22,30' --reference refs.npz");
  return [arguments] { return fix_model(*arguments); };
}

}  // namespace thaw::cli
