#include "thaw/cli/fix_reference.h"

#include <map>
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/notes.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/infer/size_names.h"
#include "thaw/lift/align/values.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/lift/onetrace/thaw_trace.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

void write_json(const FixCall& call, const FixReferenceReport& report, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", call.model);
  write_output_member(json, files);
  json.member("confirmed", report.confirmed);
  write_notes(json, "sizes", views(report.sizes));
  write_notes(json, "changed", views(report.changed));
  write_notes(json, "left", views(report.left));
  json.member_array("cases");
  for (const ReferenceCase& one : report.cases) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member("case", one.name);
    json.member("sizes", one.sizes);
    json.member("agrees", one.agrees);
    json.member("max_abs", one.max_abs);
    json.optional_member("message", one.reason);
    json.end_object();
  }
  json.end_array();
  json.member("tries", report.tries);
  json.member_array("notes");
  for (const std::string& note : report.notes) json.value(note);
  json.end_array();
  write_files_member(json, files);
  json.end_object();
  write_output(text + "\n");
}

void write_text(const FixCall& call, const FixReferenceReport& report, const Written& files) {
  std::string text = notes_text("sizes", views(report.sizes), call.all);
  const bool wrong = !report.confirmed;
  if (!report.changed.empty())
    text += notes_text(wrong ? "proposed, and not confirmed" : "changed", views(report.changed), call.all);
  if (!report.left.empty()) text += notes_text("left as it is", views(report.left), call.all);
  for (const ReferenceCase& one : report.cases) {
    const std::string name = one.name.empty() ? "the case" : fmt::format("case '{}'", one.name);
    text += fmt::format("{} {} ({}): ", one.agrees ? "agrees with" : "DIFFERS from", report::printable(name),
                        report::printable(one.sizes));
    text += one.agrees ? fmt::format("largest difference {:.3g}\n", one.max_abs) : report::printable(one.reason) + "\n";
  }
  if (report.tries > 0) text += fmt::format("choices run: {}\n", report.tries);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", report::printable(note));
  if (!files.empty()) {
    text += written_text(files);
  } else if (wrong) {
    text += "the reference does not confirm it; nothing was written\n";
  } else {
    text += report.modified() ? "dry run; nothing was written\n" : "nothing to change; nothing was written\n";
  }
  write_output(text);
}

using SizesAt = std::map<std::string, std::vector<int64_t>>;

// Axes of inputs, however they are spelled, by the names that the room goes by.
SizesAt sizes_by_name(const ir::Model& model, const SizesAt& at) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const dim::SizeNames names = infer::size_names(model, facts, scope);
  SizesAt named;
  for (const auto& [name, values] : at) {
    const auto found = names.find(name);
    const bool is_axis = found && found->kind != dim::SizeName::Kind::kElement;
    if (named.emplace(is_axis ? found->text : name, values).second) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("'{}' is given twice", name), .where = "--at", .expected = "one number for each size"});
  }
  return named;
}

}  // namespace

void add_reference_options(CLI::App& app, ReferenceOptions& options) {
  app.add_option("--reference", options.reference,
                 "what the true model was fed and gave at other sizes (.npz): confirms more rewrites")
      ->type_name("FILE");
  add_texts(app, "--at", options.at, "NAME=1,22,30",
            "with a reference: the sizes of the export, values of an input or dims");
  add_texts(app, "--add-input", options.added, "NAME:TYPE[DIMS]",
            "with a reference: an input that the exporter took out: 'grid_thw:int64[1,3]'");
  add_list(app, "--cases", options.cases, "NAME,…", "with a reference: use these of its cases only");
  app.add_option("--tries", options.tries, "with a reference: at most so many choices are run (200)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--atol", options.tolerance.absolute, "with a reference: absolute tolerance, as for verify")
      ->type_name("X");
  app.add_option("--rtol", options.tolerance.relative, "with a reference: relative tolerance, as for verify")
      ->type_name("X");
}

void check_without_reference(const ReferenceOptions& options) {
  const char* given = !options.at.empty()      ? "--at"
                      : !options.added.empty() ? "--add-input"
                      : !options.cases.empty() ? "--cases"
                                               : nullptr;
  if (!given) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("{} says nothing without --reference", given),
               .where = "thaw fix",
               .expected = "--reference FILE.npz, the true model's inputs and outputs at other sizes",
               .next = "give it, or leave the option out"});
}

int fix_with_reference(const FixCall& call, const ReferenceOptions& options) {
  std::unique_ptr<ir::Model>& model = until_exit(ir::load(call.model));
  if (!call.output.empty()) call.saving.require(*model, call.output);
  FixReferenceOptions how;
  run::require_tolerance(options.tolerance);
  how.at = sizes_by_name(*model, lifting::onetrace::parse_at(options.at));
  how.cases = options.cases;
  for (const std::string& text : options.added) how.added.push_back(lifting::parse_added_input(text));
  how.tolerance = options.tolerance;
  how.most_tries = options.tries;
  how.fix = call.fix;
  const Phase phase("looking for expressions that the reference confirms");
  const FixReferenceReport report = lifting::onetrace::thaw_trace(model, options.reference, how);
  Written files;
  if (report.confirmed && report.modified() && !call.output.empty()) {
    SaveOptions save;
    save.external = call.external;
    rewrite::rename_sizes(*model, call.saving.renames());
    files = ir::save(*model, call.output, save);
  }
  if (call.format == Format::kJson) {
    write_json(call, report, files);
  } else {
    write_text(call, report, files);
  }
  return report.confirmed ? kFine : kFindings;
}

}  // namespace thaw::cli
