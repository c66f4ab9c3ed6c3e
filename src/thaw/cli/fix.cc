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

constexpr std::string_view kFixedName = "fixed.onnx";

// With --reference.
struct ReferenceArguments {
  std::string reference;
  std::vector<std::string> sizes, added, cases;
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
  const char* given = !arguments.sizes.empty()   ? "--sizes"
                      : !arguments.added.empty() ? "--add-input"
                      : !arguments.cases.empty() ? "--cases"
                                                 : nullptr;
  if (!given) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("{} is for --reference", given),
               .where = "thaw fix",
               .expected = "--reference FILE.npz, the true model's inputs and outputs at other sizes",
               .next = "give it, or leave the option out"});
}

int fix_by_reference(const FixArguments& arguments, const FixOptions& fix, const Output& output,
                     const ReportFile& file) {
  const ReferenceArguments& given = arguments.reference;
  // The sizes of the export, and the elements of its inputs.
  std::vector<std::string> at = given.sizes;
  at.insert(at.end(), arguments.feeds.values.begin(), arguments.feeds.values.end());
  FixReferenceOptions how{.at = verbs::parse_at(at),
                          .cases = given.cases,
                          .added = {},
                          .tolerance = given.tolerance,
                          .most_tries = given.tries,
                          .fix = fix};
  for (const std::string& text : given.added) how.added.push_back(verbs::parse_added_input(text));
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const FixReferenceReport report = fix_with_reference(model, given.reference, how, output);
  file.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() ? kFine : kFindings;
}

int fix_model(const FixArguments& arguments) {
  const OutputArguments output = arguments.output.beside(arguments.model, kFixedName);
  const ReportFile file(arguments.report, {arguments.model, output.path, arguments.reference.reference});
  FixOptions how = {.sizes = !arguments.no_sizes,
                    .chains = !arguments.no_chains,
                    .declarations = !arguments.no_declarations,
                    .types = !arguments.no_types};
  if (!arguments.reference.reference.empty()) return fix_by_reference(arguments, how, output.output(), file);
  refuse_without_reference(arguments.reference);
  how.check = !arguments.no_check;
  how.feeds = arguments.feeds.feeds();
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const FixReport report = fix(model, how, output.output());
  file.write(report);
  print(report, arguments.format, arguments.all);
  return report.accepted() && !report.has_remaining_errors() ? kFine : kFindings;
}

void add_reference(Options& options, ReferenceArguments& arguments) {
  options.heading("Reference");
  options.value("--reference", arguments.reference, "FILE",
                "inputs and outputs of the true model at other sizes (.npz): confirms more rewrites");
  options.texts("--sizes", arguments.sizes, "SPEC",
                "the sizes of the export: 'height=640,width=480'; elements of an input with --values");
  options.texts("--add-input", arguments.added, "NAME:TYPE[DIMS]",
                "add an input that the exporter removed: 'grid_thw:int64[1,3]'");
  options.list("--cases", arguments.cases, "NAME,…", "the cases of the reference to use (all)");
  options.value("--tries", arguments.tries, "N", "run at most this many choices (200)", Bounds{1, 1000000});
  options.value("--atol", arguments.tolerance.absolute, "X", "absolute tolerance (1e-4; 16-bit floats 1e-2)",
                kTolerance);
  options.value("--rtol", arguments.tolerance.relative, "X", "relative tolerance (1e-3; 16-bit floats 1e-2)",
                kTolerance);
}

}  // namespace

Action define_fix(Options& options) {
  auto arguments = std::make_shared<FixArguments>();
  options.use("Use it where `thaw check` names it; several traces of one model are for `thaw lift`.");
  add_model(options, arguments->model);
  options.heading("Rewrites");
  options.flag("--keep-sizes", arguments->no_sizes, "leave frozen sizes unchanged");
  options.flag("--keep-chains", arguments->no_chains, "leave chains of shape arithmetic unchanged");
  options.flag("--keep-declarations", arguments->no_declarations, "leave declared names and shapes unchanged");
  options.flag("--keep-types", arguments->no_types, "leave types that do not match unchanged");
  add_reference(options, arguments->reference);
  add_model_output(options, arguments->output, kFixedName);
  add_check(options, arguments->no_check, arguments->feeds);
  add_all(options, arguments->all, "print every change, not the first few");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--at", "--sizes");
  options.common({"--output", "--in-place", "--dry-run", "--reference", "--sizes", "--all", "--report", "--no-check"});
  options.examples(
      "thaw fix detector.onnx -o fixed.onnx\n"
      "thaw fix detector.onnx --dry-run --all\n"
      "thaw fix vision.onnx --reference refs.npz --values 'grid_thw=1,22,30'");
  return [arguments] { return fix_model(*arguments); };
}

}  // namespace thaw::cli
