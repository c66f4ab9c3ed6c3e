// thaw fix: applies the rewrites that are safe without a reference; with one, also those that it confirms.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/check_feeds.h"
#include "thaw/cli/fix_reference.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/confirm/fixed.h"
#include "thaw/core/error.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"

namespace thaw::cli {
namespace {

struct FixArguments {
  std::string model, output;
  CheckFeeds feeds;
  bool dry_run = false, no_sizes = false, no_chains = false, no_declarations = false, no_check = false, all = false;
  ReferenceOptions reference;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

std::string json_of(const FixArguments& options, const FixReport& report, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  write_output_member(json, files);
  write_notes(json, "changed", views(report.changed));
  write_notes(json, "left", views(report.left));
  report::write_checks(json, "sizes", report.checks);
  report::write_uncompared(json, report.uncompared);
  write_files_member(json, files);
  json.end_object();
  return text + "\n";
}

std::string text_of(const FixReport& report, const Written& files, bool all) {
  std::string text;
  if (report.modified()) text += notes_text("changed", views(report.changed), all);
  if (!report.left.empty()) text += notes_text("left as it is", views(report.left), all);
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::uncompared_text(report.uncompared);
  if (!files.empty()) return text + written_text(files);
  if (!report.modified()) return text + "nothing to change; nothing was written\n";
  return text + (report.agrees() ? "dry run; nothing was written\n" : "nothing was written\n");
}

// Last, as what is freed has its name only then.
void rename(ir::Model& model, const rewrite::SizeRenames& renames, FixReport& report) {
  rewrite::rename_sizes(model, renames);
  for (const auto& [from, to] : renames)
    report.changed.push_back({.kind = "rename a size", .place = "size '" + from + "'", .replaced = {{from, to}}});
}

int fix_model(const FixArguments& options) {
  if (options.output.empty() && !options.dry_run)
    throw Error(ErrorCode::kInvalidArgument,
                {"no file to write to is given", "thaw fix", "-o OUT, or --dry-run", "name the file to write"});
  FixOptions fix = {.sizes = !options.no_sizes, .chains = !options.no_chains, .declarations = !options.no_declarations};
  if (!options.reference.reference.empty()) {
    return fix_with_reference({.model = options.model,
                               .output = options.dry_run ? std::string() : options.output,
                               .fix = fix,
                               .external = options.external,
                               .saving = options.saving,
                               .all = options.all,
                               .format = options.format},
                              options.reference);
  }
  check_without_reference(options.reference);
  ir::Model& model = *until_exit(ir::load(options.model));
  if (!options.dry_run) options.saving.require(model, options.output);
  fix.check = !options.no_check && !options.dry_run;
  fix.feeds = options.feeds.of(model);
  const rewrite::SizeRenames renames = options.saving.renames();
  FixReport report = confirm::fix(model, *until_exit(ir::load(options.model)), fix,
                                  [&](ir::Model& fixed) { rewrite::require_renames(fixed, renames); });
  if (report.agrees()) rename(model, renames, report);
  const bool write = report.modified() && report.agrees() && !options.dry_run;
  Written files;
  if (write) {
    SaveOptions save;
    save.external = options.external;
    files = ir::save(model, options.output, save);
  }
  write_output(options.format == Format::kJson ? json_of(options, report, files) : text_of(report, files, options.all));
  return report.agrees() && !report.left_errors() ? kFine : kFindings;
}

}  // namespace

Action define_fix(CLI::App& app) {
  auto options = std::make_shared<FixArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the file to write")->type_name("FILE");
  app.add_flag("--dry-run", options->dry_run, "say what would change, and write nothing");
  app.add_flag("--keep-sizes", options->no_sizes, "leave frozen sizes as they are");
  app.add_flag("--keep-chains", options->no_chains, "leave chains of shape arithmetic as they are");
  app.add_flag("--keep-declarations", options->no_declarations, "leave declared names and shapes as they are");
  add_reference_options(app, options->reference);
  add_external(app, options->external);
  add_save_options(app, options->saving);
  app.add_flag("--no-check", options->no_check, "do not run the result beside the model");
  add_check_feeds(app, options->feeds);
  app.add_flag("--all", options->all, "print every change, not the first few");
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw fix detector.onnx -o fixed.onnx\n"
      "thaw fix detector.onnx --dry-run --all\n"
      "thaw fix vision.onnx -o fixed.onnx --at 'grid_thw=1,22,30' --reference refs.npz");
  return [options] { return fix_model(*options); };
}

}  // namespace thaw::cli
