// thaw batch: a model for one sample becomes the same model over a batch.
#include "thaw/batch/batch.h"

#include <memory>

#include <fmt/format.h>

#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

struct Options {
  std::string model, output, sample;
  batch::Options batch;
  ir::ExternalPolicy external = ir::ExternalPolicy::kKeep;
  Format format = Format::kText;
};

std::string as_json(const Options& options, const batch::Report& report) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  json.member("output", options.output);
  write_notes(json, "inputs", views(report.inputs));
  write_notes(json, "outputs", views(report.outputs));
  json.member("kept", report.kept);
  json.member("rewritten", report.rewritten);
  json.member("untouched", report.untouched);
  write_notes(json, "loops", views(report.loops));
  json.member_object("operators");
  for (const auto& [op, count] : report.operators) {
    json.member_object(op, report::JsonWriter::Layout::kLine);
    json.member("kept", count.kept);
    json.member("rewritten", count.rewritten);
    json.member("untouched", count.untouched);
    json.member("loops", count.loops);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return text + "\n";
}

std::string as_text(const Options& options, const batch::Report& report) {
  std::string text;
  for (const batch::Note& note : report.inputs)
    text += fmt::format("input   {}  {}\n", report::printable(note.where), report::printable(note.message));
  for (const batch::Note& note : report.outputs)
    text += fmt::format("output  {}  {}\n", report::printable(note.where), report::printable(note.message));
  text += fmt::format("nodes   {} batch as they are, {} rewritten, {} that no sample reaches\n", report.kept,
                      report.rewritten, report.untouched);
  for (const batch::Note& note : report.loops)
    text += fmt::format("loop    {}: {}\n", report::printable(note.where), report::printable(note.message));
  return text + fmt::format("wrote {}\n", report::printable(options.output));
}

int batch_model(const Options& options) {
  auto model = ir::load(options.model);
  batch::Options how = options.batch;
  how.sample = parse_sizes(options.sample, "--sample");
  const batch::Report report = batch::batch(*model, how);
  ir::SaveOptions save;
  save.external = options.external;
  ir::save(*model, options.output, save);
  write_output(options.format == Format::kJson ? as_json(options, report) : as_text(options, report));
  return kFine;
}

}  // namespace

Action define_batch(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the file to write")->required()->type_name("FILE");
  app.add_option("--name", options->batch.name, "what the new size is called; batch by default")->type_name("NAME");
  add_list(app, "--inputs", options->batch.inputs, "NAME,…",
           "the inputs that differ from sample to sample; all by default");
  app.add_option("--sample", options->sample, "sizes that are fixed in one sample: 'input_dim0=1'")->type_name("SPEC");
  app.add_flag("--new-axis", options->batch.new_axis, "add a batch axis to inputs that begin with a fixed 1 too");
  app.add_flag("--allow-loop", options->batch.allow_loop,
               "run operators without a batch rule sample by sample, in a Scan");
  add_choice<ir::ExternalPolicy>(app, "--external", options->external,
                                 {{"keep", ir::ExternalPolicy::kKeep},
                                  {"single", ir::ExternalPolicy::kSingle},
                                  {"inline", ir::ExternalPolicy::kInline}},
                                 "where weights outside the model file go: as they are, into one data file, or inside");
  add_format(app, options->format);
  app.footer(
      "thaw batch detector.onnx -o batched.onnx\n"
      "thaw batch vad.onnx -o batched.onnx --inputs input,state");
  return [options] { return batch_model(*options); };
}

}  // namespace thaw::cli
