// thaw check: what is wrong with a model's sizes, types and declarations, where it comes from and what mends it.
#include "thaw/check.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/check_config.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/report/printable.h"
#include "thaw/verbs/model_files.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct CheckArguments {
  std::vector<std::string> models;
  std::string report, config, opt, profiles;
  CheckOptions check;
  FeedArguments feeds;
  bool all = false, exit_zero = false;
  Format format = Format::kText;
};

ExitCode code_of(const CheckedFile& file) {
  if (file.error) return kWrong;
  return file.accepted() ? kFine : kFindings;
}

// Of many models each gives its memory back before the next is read.
CheckReport check_file(const std::string& path, const CheckOptions& options, bool is_only) {
  Model model = Model::load(path);
  CheckReport report = check(model, options);
  if (is_only) until_exit(std::move(model));
  return report;
}

// --profiles: of one model, and asked for with the sizes that it is made of.
ReportFile profiles_file(const CheckArguments& arguments, const std::vector<std::string>& paths) {
  const auto refuse = [](std::string what, std::string expected) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = std::move(what), .where = "--profiles", .expected = std::move(expected)});
  };
  ReportFile file(arguments.profiles, paths);
  if (!file.is_wanted()) return file;
  if (file.is_page()) refuse("profiles are no page", "a file FILE.json");
  if (paths.size() != 1) refuse(fmt::format("there are {} models", paths.size()), "one model");
  if (arguments.opt.empty() || arguments.check.sizes.empty())
    refuse(fmt::format("{} are not given, which profiles are made of",
                       arguments.check.sizes.empty() ? "ranges of sizes" : "the best sizes"),
           "--sizes with a range of each size, and --opt with the best ones");
  return file;
}

int check_models(const CheckArguments& arguments) {
  const std::vector<std::string> paths = verbs::model_files(arguments.models);
  const ReportFile page(arguments.report, paths);
  const ReportFile profiles = profiles_file(arguments, paths);
  CheckOptions how = arguments.check;
  if (!arguments.opt.empty()) how.opt = verbs::parse_sizes(arguments.opt, "--opt");
  how.feeds = arguments.feeds.feeds();
  how.modules = page.is_page();
  const CheckConfig config = read_config(arguments.config);
  // What the call says goes before the file.
  how.counting.only = how.only.empty() ? config.counting.only : how.only;
  how.counting.ignore = how.ignore.empty() ? config.counting.ignore : how.ignore;
  if (how.target.empty()) how.target = config.target;
  CheckSettings settings = config.settings;
  std::ranges::copy(skipped(paths, settings.file), std::back_inserter(settings.ignored));
  std::vector<CheckedFile> files;
  int code = kFine;
  for (const std::string& path : paths) {
    CheckedFile& file = files.emplace_back();
    file.report.model = path;
    file.is_accepted_anyway = arguments.exit_zero || config.exit_zero;
    file.settings = settings;
    try {
      file.report = check_file(path, how, paths.size() == 1);
    } catch (const Error& error) {
      if (paths.size() == 1) throw;
      file.error = error;  // the others are checked all the same
      std::fputs(("thaw: " + report::printable(error.what()) + "\n").c_str(), stderr);
    }
    code = std::max<int>(code, code_of(file));
  }
  const std::span<const CheckedFile> checked = files;
  page.write(checked);
  if (profiles.is_wanted()) {
    const std::span<const ShapeProfile> made = files.front().report.profiles;
    profiles.write_one([] { return std::string(); }, [&] { return to_json(made); });
  }
  if (arguments.format == Format::kSarif)
    write_output(to_sarif(checked));
  else if (arguments.format == Format::kGithub)
    write_output(to_github(checked));
  else if (arguments.format == Format::kGitlab)
    write_output(to_gitlab(checked));
  else
    print(checked, arguments.format, arguments.all);
  return code;
}

}  // namespace

Action define_check(Options& options) {
  auto arguments = std::make_shared<CheckArguments>();
  options.use("Use it first: each finding names the node, what happens at other sizes, and the command that fixes it.");
  options.arguments("MODEL", arguments->models, "FILE", "ONNX files, or folders of them");
  options.heading("Rules");
  options.list("--select", arguments->check.only, "CODE,…", "only these rules, or those that begin so: THAW01");
  options.list("--ignore", arguments->check.ignore, "CODE,…", "not these rules, or those that begin so");
  static const std::vector<std::string> kTargets = [] {
    std::vector<std::string> names = target_names();
    names.emplace_back("all");
    return names;
  }();
  std::vector<std::pair<std::string_view, std::string>> targets;
  for (const std::string& name : kTargets) targets.emplace_back(name, name);
  options.choice<std::string>("--target", arguments->check.target, std::move(targets),
                              "also find what this backend does not support; all: how far each supports it");
  options.value("--config", arguments->config, "FILE",
                "settings (those of thaw.toml, as far as a folder may set them)");
  options.flag("--exit-zero", arguments->exit_zero, "exit with 0 also where there are errors or warnings");
  options.heading("Sizes");
  options.value("--sizes", arguments->check.sizes, "SPEC",
                "prove that the model runs at all of these sizes, or find the smallest where it fails");
  options.value("--opt", arguments->opt, "SIZES", "with --profiles: the best of the sizes, 'batch=8,height=640'");
  options.value("--profiles", arguments->profiles, "FILE",
                "write TensorRT's optimization profiles of --sizes and --opt, as JSON");
  options.flag("--run", arguments->check.run, "run the model at the sizes where it fails");
  add_input(options, arguments->feeds, "with --run: an array of an input; or FILE.npz, arrays by input name");
  add_values(options, arguments->feeds, "with --run: the elements of a small input");
  add_all(options, arguments->all, "print every finding, not the first few of each rule");
  add_report(options, arguments->report);
  add_format(options, arguments->format, true);
  add_limits(options);
  options.renamed("--dims", "--sizes");
  options.renamed("--rule", "--select");
  options.common({"--sizes", "--target", "--select", "--ignore", "--all", "--report", "--format"});
  options.examples(
      "thaw check detector.onnx\n"
      "thaw check detector.onnx --sizes 'batch=1..32,height=64..1024:32,width=64..1024:32'\n"
      "thaw check models/ --target directml --select THAW00,THAW01");
  return [arguments] { return check_models(*arguments); };
}

}  // namespace thaw::cli
