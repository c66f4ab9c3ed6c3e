// thaw optimize: fewer nodes and bytes, the same numbers at every size.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/check_feeds.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/confirm/optimized.h"
#include "thaw/confirm/run_check.h"
#include "thaw/core/error.h"
#include "thaw/infer/cost.h"
#include "thaw/report/findings.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw::cli {
namespace {

constexpr double kMegabyte = 1e6;

struct OptimizeArguments {
  std::string model, output;
  CheckFeeds feeds;
  bool dry_run = false, no_check = false, explain = false;
  OptimizeOptions optimize;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

// What was asked to be compared and could not be is not written.
bool is_proven(const OptimizeReport& report, bool is_checked) {
  return report.agrees() && (!is_checked || !report.modified() || !report.checks.empty());
}

// By what was done, then where: a model has hundreds of one kind.
std::vector<NoteView> changes_by_kind(const OptimizeReport& report, bool explain) {
  std::vector<NoteView> notes;
  for (const Change& change : report.changed) {
    std::string message = change.kind;
    if (explain) message += ": " + change.message();
    notes.push_back({.code = {}, .where = change.place, .message = std::move(message), .at = {}});
  }
  return notes;
}

std::vector<NoteView> untaken(const OptimizeReport& report) {
  std::vector<NoteView> notes;
  for (const Finding& finding : report.untaken)
    notes.push_back({.code = finding.code,
                     .where = finding.where.node.empty() ? std::string_view("the model") : finding.where.node,
                     .message = finding.message,
                     .at = {}});
  return notes;
}

std::vector<NoteView> near_misses(const OptimizeReport& report) {
  std::vector<NoteView> notes;
  for (const Change& change : report.left)
    notes.push_back({.code = {}, .where = change.place, .message = change.kind + ": " + change.why, .at = {}});
  return notes;
}

// What the nodes read and write, where that is asked for.
struct Moved {
  infer::MovedBytes before, after;
};

void write_moved(report::JsonWriter& json, std::string_view when, const infer::MovedBytes& moved) {
  json.member(fmt::format("bytes_moved_{}", when), moved.bytes);
  json.member(fmt::format("nodes_not_counted_{}", when), static_cast<int64_t>(moved.unknown));
}

std::string moved_text(const Moved& moved) {
  const auto shown = [](const infer::MovedBytes& one) {
    return fmt::format("{:.2f} MB{}", static_cast<double>(one.bytes) / kMegabyte,
                       one.unknown > 0 ? fmt::format(" and what {} move", report::counted(one.unknown, "node")) : "");
  };
  return fmt::format("moved, each free size 64: {} -> {}\n", shown(moved.before), shown(moved.after));
}

std::vector<NoteView> left_out(const OptimizeReport& report) {
  std::vector<NoteView> notes;
  for (const Change& change : report.left_out)
    notes.push_back({.code = {}, .where = change.kind, .message = "with it, " + change.why, .at = {}});
  return notes;
}

std::string names_of(const std::vector<std::string>& passes) {
  std::string text;
  for (const std::string& pass : passes) text += (text.empty() ? "" : ",") + pass;
  return text;
}

// Why nothing was written, and what to do.
std::string unwritten_text(const OptimizeReport& report) {
  constexpr std::string_view kNothing = "nothing was written";
  if (!report.modified()) return fmt::format("{}\n", kNothing);
  if (report.agrees())
    return fmt::format("{}: give what runs with --input or --values, or --no-check to write it unproven\n", kNothing);
  if (report.passes.empty())
    return fmt::format(
        "{}: it differs as it is too, as what draws random numbers does; --no-check writes it unproven\n", kNothing);
  return fmt::format(
      "{}: it differs without fusions too; --skip leaves out some of the passes that changed it, which are {}\n",
      kNothing, names_of(report.passes));
}

std::string optimize_json(const OptimizeArguments& options, const OptimizeReport& report,
                          const std::optional<Moved>& moved, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  write_output_member(json, files);
  json.member("nodes_before", static_cast<int64_t>(report.nodes_before));
  json.member("nodes_after", static_cast<int64_t>(report.nodes_after));
  json.member("weights_before", static_cast<int64_t>(report.weights_before));
  json.member("weights_after", static_cast<int64_t>(report.weights_after));
  if (moved) {
    write_moved(json, "before", moved->before);
    write_moved(json, "after", moved->after);
  }
  write_changes(json, "changed", report.changed);
  write_changes(json, "left", report.left);
  write_changes(json, "left_out", report.left_out);
  json.member("replaceable_weights", static_cast<int64_t>(report.replaceable_weights));
  report::write_checks(json, "sizes", report.checks);
  report::write_uncompared(json, report.uncompared);
  if (options.optimize.target == OptimizeTarget::kDirectml) report::write_findings(json, report.untaken);
  write_files_member(json, files);
  json.end_object();
  return text + "\n";
}

std::string optimize_text(const OptimizeArguments& options, const OptimizeReport& report,
                          const std::optional<Moved>& moved, const Written& files) {
  std::string text = fmt::format("nodes: {} -> {}\nconstants: {:.2f} MB -> {:.2f} MB\n", report.nodes_before,
                                 report.nodes_after, static_cast<double>(report.weights_before) / kMegabyte,
                                 static_cast<double>(report.weights_after) / kMegabyte);
  if (moved) text += moved_text(*moved);
  if (report.modified()) {
    const std::vector<NoteView> notes = changes_by_kind(report, options.explain);
    text += options.explain ? notes_text("changed", notes, true) : groups_text("changed", notes, false, "--explain");
  }
  if (options.explain && !report.left.empty()) text += notes_text("not fused", near_misses(report), true);
  if (!report.left_out.empty()) text += notes_text("passes left out", left_out(report), true);
  if (report.replaceable_weights > 0) text += rewrite::told_replaceable(report.replaceable_weights) + "\n";
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::uncompared_text(report.uncompared);
  if (options.optimize.target == OptimizeTarget::kDirectml)
    text += report.untaken.empty()
                ? "DirectML takes all of it\n"
                : notes_text("DirectML does not take", untaken(report), options.explain, "--explain");
  if (!files.empty()) return text + written_text(files);
  if (options.dry_run) return text + "dry run; nothing was written\n";
  return text + unwritten_text(report);
}

int optimize_model(const OptimizeArguments& options) {
  if (options.output.empty() && !options.dry_run)
    throw Error(ErrorCode::kInvalidArgument,
                {"no file to write to is given", "thaw optimize", "-o OUT, or --dry-run", "name the file to write"});
  ir::Model& model = *until_exit(ir::load(options.model));
  if (!options.dry_run) options.saving.require(model, options.output);
  rewrite::require_renames(model, options.saving.renames());
  OptimizeOptions how = options.optimize;
  how.check = !options.no_check && !options.dry_run;
  how.feeds = options.feeds.of(model);
  const ir::Model& original = how.check ? *until_exit(ir::load(options.model)) : model;
  std::optional<Moved> moved;
  if (options.explain) moved.emplace().before = infer::bytes_moved(model);
  const OptimizeReport report = confirm::optimize(model, original, how);
  if (moved) moved->after = infer::bytes_moved(model);
  Written files;
  const bool writes = is_proven(report, how.check);
  // A model that needs nothing is written as it is: the next step of a script finds its file.
  if (writes && !options.dry_run) {
    SaveOptions save;
    save.external = options.external;
    rewrite::rename_sizes(model, options.saving.renames());
    files = ir::save(model, options.output, save);
  }
  write_output(options.format == Format::kJson ? optimize_json(options, report, moved, files)
                                               : optimize_text(options, report, moved, files));
  return writes ? kFine : kFindings;
}

}  // namespace

Action define_optimize(CLI::App& app) {
  auto options = std::make_shared<OptimizeArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the file to write")->type_name("FILE");
  app.add_flag("--dry-run", options->dry_run, "say what would change, and write nothing");
  add_choice<OptimizeTarget>(
      app, "--target", options->optimize.target,
      {{"portable", OptimizeTarget::kPortable}, {"ort", OptimizeTarget::kOrt}, {"directml", OptimizeTarget::kDirectml}},
      "whose operators the result may have (portable)");
  add_choice<OptimizeLevel>(app, "--level", options->optimize.level,
                            {{"clean", OptimizeLevel::kClean}, {"fuse", OptimizeLevel::kFuse}},
                            "the same numbers bit for bit, or fused operators too (fuse)");
  app.add_option("--opset", options->optimize.opset,
                 "the opset of the result, the model's or a newer one (the model's)")
      ->type_name("N");
  add_list(app, "--only", options->optimize.only, "PASS", "these passes alone (docs/optimizing.md lists them)");
  add_list(app, "--skip", options->optimize.skip, "PASS", "not these passes");
  add_max_growth(app, options->optimize.max_growth);
  app.add_flag("--constant-weights", options->optimize.constant_weights,
               "weights that are inputs too become constants, and are no inputs any more");
  app.add_flag("--explain", options->explain, "print every change and where, what nearly was one, and the bytes moved");
  add_external(app, options->external);
  add_save_options(app, options->saving);
  auto* without = app.add_flag("--no-check", options->no_check, "do not run the result beside the model");
  app.add_flag_function(
         "--check", [](int64_t) {}, "run the result beside the model before it is written, as it is anyway")
      ->excludes(without);
  add_check_feeds(app, options->feeds);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw optimize model.onnx -o smaller.onnx\n"
      "thaw optimize model.onnx -o smaller.onnx --level clean\n"
      "thaw optimize model.onnx -o faster.onnx --target ort\n"
      "thaw optimize model.onnx --dry-run --explain\n"
      "thaw optimize model.onnx -o smaller.onnx --skip fold");
  return [options] { return optimize_model(*options); };
}

}  // namespace thaw::cli
