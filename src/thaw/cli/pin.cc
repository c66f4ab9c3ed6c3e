// thaw pin: a model for chosen sizes, frozen on purpose.
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/limit_options.h"
#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/confirm/pinned.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/run_checks.h"
#include "thaw/run/input_text.h"

namespace thaw::cli {
namespace {

struct PinArguments {
  std::string model, output;
  std::vector<std::string> dims, values, feeds;
  bool no_check = false;
  PinOptions pin;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

// One of the models that are asked for.
struct PinnedModel {
  std::string path;
  PinOptions how;
  std::unique_ptr<ir::Model> model;
  confirm::Pinned pinned;

  const PinReport& report() const { return pinned.report; }
  // What was asked to be compared and could not be is not written either.
  bool is_proven() const { return report().agrees() && (!how.check || !report().checks.empty()); }
};

// "vision.onnx" at height=336,width=448: "vision_height-336_width-448.onnx".
std::string path_for(const std::filesystem::path& output, const NamedSizes& sizes) {
  std::string name = output.stem().string();
  for (const auto& [size, number] : sizes) {
    name += '_';
    for (const char c : size) name += (std::isalnum(static_cast<unsigned char>(c)) || c == '.') ? c : '-';
    name += fmt::format("-{}", number);
  }
  return (output.parent_path() / (name + output.extension().string())).string();
}

std::vector<PinnedModel> models_to_make(const PinArguments& options) {
  std::vector<PinnedModel> models;
  std::vector<std::string> dims = options.dims;
  if (dims.empty()) dims.emplace_back();
  for (const std::string& text : dims) {
    PinnedModel& made = models.emplace_back();
    made.how = options.pin;
    made.how.sizes = parse_sizes(text, "--dims");
    made.how.check = !options.no_check;
    run::add_values(options.values, made.how.values);
    run::add_values(options.feeds, made.how.feeds);
    made.path = dims.size() == 1 ? options.output : path_for(options.output, made.how.sizes);
    for (const PinnedModel& other : models) {
      if (&other == &made || other.path != made.path) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "two --dims ask for the same sizes", .where = text, .expected = "other sizes in each"});
    }
  }
  return models;
}

// Whether all that is fed declares its sizes as numbers.
bool is_static(const ir::Model& model) {
  return std::ranges::all_of(model.graph->inputs(), [](const ir::Value* input) {
    return input->initializer() ||
           (input->type.kind == ir::Type::Kind::kTensor && input->type.shape &&
            std::ranges::all_of(*input->type.shape, [](const ir::DeclaredDim& dim) { return dim.value > 0; }));
  });
}

// A model without free sizes may be meant as it is: what follows from them is folded.
void require_something_to_pin(const PinOptions& how, const ir::Model& model) {
  if (!how.sizes.empty() || !how.values.values.empty() || is_static(model)) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = "nothing to pin is given",
                                            .where = "thaw pin",
                                            .expected = "--dims 'height=336,width=336', or --values 'grid_thw=1,24,24'",
                                            .next = "`thaw inspect` lists the inputs and their sizes"});
}

void write_model(report::JsonWriter& json, const PinnedModel& made) {
  json.begin_object();
  json.member("output", made.path);
  json.member_object("dims");
  for (const auto& [name, size] : made.how.sizes) json.member(name, size);
  json.end_object();
  json.member("nodes_before", static_cast<int64_t>(made.report().nodes_before));
  json.member("nodes_after", static_cast<int64_t>(made.report().nodes_after));
  write_changes(json, "changed", made.report().changed);
  json.member_array("open");
  for (const OpenSize& open : made.report().open) {
    json.begin_object();
    json.member("tensor", open.tensor);
    json.member("axis", static_cast<int64_t>(open.axis));
    json.member("size", open.size);
    json.member("why", open.why);
    json.end_object();
  }
  json.end_array();
  report::write_checks(json, "sizes", made.report().checks);
  report::write_uncompared(json, made.report().uncompared);
  json.end_object();
}

std::string pin_json(const PinArguments& options, const std::vector<PinnedModel>& models, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  json.member("written", !files.empty());
  json.member_array("pinned");
  for (const PinnedModel& made : models) write_model(json, made);
  json.end_array();
  write_files_member(json, files);
  json.end_object();
  return text + "\n";
}

std::string pinned_text(const PinnedModel& made, bool is_one_of_several) {
  std::string text;
  if (is_one_of_several) text += made.path + "\n";
  text += fmt::format("nodes: {} -> {}\n", made.report().nodes_before, made.report().nodes_after);
  std::vector<Note> pinned, open;
  for (const Change& change : made.report().changed)
    if (change.kind.starts_with("pin")) pinned.push_back({change.place, change.message(), {}});
  for (const OpenSize& size : made.report().open)
    open.push_back({fmt::format("{} axis {}{}", size.tensor, size.axis, size.size.empty() ? "" : " = " + size.size),
                    size.why,
                    {}});
  text += notes_text("pinned", views(pinned), true);
  text += open.empty() ? "every size is a number\n" : notes_text("no number", views(open), true);
  text += report::checks_text(made.report().checks, "agrees with the original at", "DIFFERS from the original at");
  return text + report::uncompared_text(made.report().uncompared);
}

int pin_model(const PinArguments& options) {
  std::vector<PinnedModel> models = models_to_make(options);
  const ir::Model& original = *until_exit(ir::load(options.model));
  require_something_to_pin(models.front().how, original);
  std::vector<ir::Model*> results;
  for (PinnedModel& made : models) {
    options.saving.require(original, made.path);
    made.model = ir::clone(original);
    made.pinned = confirm::pin_unchecked(*made.model, made.how);
    results.push_back(made.model.get());
  }
  rewrite::require_renames(results, options.saving.renames());
  for (PinnedModel& made : models) confirm::check(made.pinned, *made.model, original, made.how);
  Written files;
  if (std::ranges::all_of(models, &PinnedModel::is_proven)) {
    rewrite::rename_sizes(results, options.saving.renames());
    SaveOptions save;
    save.external = options.external;
    if (const auto folder = std::filesystem::path(options.output).parent_path(); !folder.empty()) make_folder(folder);
    if (models.size() == 1) {
      files = ir::save(*models.front().model, options.output, save);
    } else {
      save.location = std::filesystem::path(options.output).filename().string() + ".data";
      std::vector<ir::SavedModel> saved;
      for (const PinnedModel& made : models) saved.push_back({made.model.get(), made.path});
      files = ir::save_together(saved, save);
    }
  }
  std::string text;
  if (options.format == Format::kJson) {
    text = pin_json(options, models, files);
  } else {
    for (const PinnedModel& made : models) text += pinned_text(made, models.size() > 1);
    text += files.empty() ? "nothing was written\n" : written_text(files);
  }
  write_output(text);
  return files.empty() ? kFindings : kFine;
}

}  // namespace

Action define_pin(CLI::App& app) {
  auto options = std::make_shared<PinArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output,
                 "the file to write; with several --dims, each has its sizes in its name")
      ->type_name("FILE")
      ->required();
  add_texts(app, "--dims", options->dims, "SIZES",
            "the sizes, such as 'batch=1,height=336,width=336'; once for each model that is wanted");
  add_texts(app, "--values", options->values, "NAME=1,22,30", "the elements of an input that becomes a constant");
  add_max_growth(app, options->pin.max_growth);
  add_external(app, options->external);
  add_save_options(app, options->saving);
  app.add_flag("--no-check", options->no_check, "do not run the result beside the model");
  add_texts(app, "--feed", options->feeds, "NAME=1,22,30",
            "the elements of an input that stays, for the check; the rest is drawn");
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw pin vision.onnx --dims 'batch=1,height=336,width=336' -o vision_336.onnx\n"
      "thaw pin vision.onnx --dims 'patches=576' --values 'grid_thw=1,24,24' -o vision_24.onnx\n"
      "thaw pin detector.onnx --dims 'h=320,w=320' --dims 'h=640,w=640' -o detector.onnx");
  return [options] { return pin_model(*options); };
}

}  // namespace thaw::cli
