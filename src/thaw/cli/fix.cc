// thaw fix: applies the rewrites that are safe without a reference; with one, also those that it confirms.
#include "thaw/fix/fix.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/fix_reference.h"
#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/core/error.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

struct FixArguments {
  std::string model, output;
  bool dry_run = false, no_sizes = false, no_chains = false, no_declarations = false, all = false;
  ReferenceOptions reference;
  ExternalPolicy external = ExternalPolicy::kKeep;
  Format format = Format::kText;
};

int fix_model(const FixArguments& options) {
  if (options.output.empty() && !options.dry_run)
    throw Error(ErrorCode::kInvalidArgument,
                {"no file to write to is given", "thaw fix", "-o OUT, or --dry-run", "name the file to write"});
  const FixOptions fix = {
      .sizes = !options.no_sizes, .chains = !options.no_chains, .declarations = !options.no_declarations};
  if (!options.reference.reference.empty()) {
    return fix_with_reference({.model = options.model,
                               .output = options.dry_run ? std::string() : options.output,
                               .fix = fix,
                               .external = options.external,
                               .all = options.all,
                               .format = options.format},
                              options.reference);
  }
  check_without_reference(options.reference);
  ir::Model& model = *until_exit(ir::load(options.model));
  if (!options.dry_run) ir::require_output(model, options.output);
  const rewrite::Changes report = fixing::fix(model, fix);
  Written files;
  if (report.modified() && !options.dry_run) {
    SaveOptions save;
    save.external = options.external;
    files = ir::save(model, options.output, save);
  }
  if (options.format == Format::kJson) {
    std::string json_text;
    report::JsonWriter json(json_text);
    json.begin_object();
    json.member("model", options.model);
    write_output_member(json, files);
    write_notes(json, "changed", views(report.made));
    write_notes(json, "left", views(report.left));
    write_files_member(json, files);
    json.end_object();
    write_output(json_text + "\n");
    return kFine;
  }
  std::string text;
  if (report.modified()) text += notes_text("changed", views(report.made), options.all);
  if (!report.left.empty()) text += notes_text("left as it is", views(report.left), options.all);
  if (!files.empty())
    text += written_text(files);
  else if (!report.modified())
    text += "nothing to change; nothing was written\n";
  else
    text += "dry run; nothing was written\n";
  write_output(text);
  return kFine;
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
  add_choice<ExternalPolicy>(
      app, "--external", options->external,
      {{"keep", ExternalPolicy::kKeep}, {"single", ExternalPolicy::kSingle}, {"inline", ExternalPolicy::kInline}},
      "where weights outside the model file go: as they are, into one data file, or inside");
  app.add_flag("--all", options->all, "print every change, not the first few");
  add_format(app, options->format);
  app.footer(
      "thaw fix detector.onnx -o fixed.onnx\n"
      "thaw fix detector.onnx --dry-run --all\n"
      "thaw fix vision.onnx -o fixed.onnx --at 'grid_thw=1,22,30' --reference refs.npz");
  return [options] { return fix_model(*options); };
}

}  // namespace thaw::cli
