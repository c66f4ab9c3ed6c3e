// thaw run: feeds a model from arrays and says what comes out.
#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/array_json.h"
#include "thaw/cli/check_feeds.h"
#include "thaw/cli/failure_hint.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_folder.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/core/error.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/npz.h"
#include "thaw/run/summary.h"
#include "thaw/run/sweep.h"

namespace thaw::cli {
namespace {

struct RunArguments {
  std::string model, sizes, output;
  std::vector<std::string> outputs;
  bool random = false, cast = false;
  RunOptions run;
  FolderArguments folder;
  Format format = Format::kText;
};

struct RunOutcome {
  Arrays feeds, results;
  std::vector<std::string> order;  // of the results, as the model has its outputs
  std::vector<std::string> warnings;
  double seconds = 0;
  run::Point chosen;  // sizes that nobody gave
};

run::Point point_of(const RunArguments& options) {
  if (options.sizes.empty()) return {};
  std::vector<run::Point> points = run::choose_points(dim::parse_range_spec(options.sizes));
  if (points.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("gives {} sets of sizes", points.size()),
                                              .where = "--sizes '" + options.sizes + "'",
                                              .expected = "one size for each name",
                                              .next = "use `thaw verify` to run at several"});
  }
  return points.front();
}

// What Thaw itself reads of the model, before ONNX Runtime opens it.
struct RunInputs {
  confirm::ModelInputs known;
  run::RunCost cost;
};

RunInputs checked_inputs(const RunArguments& options, dim::Scope& scope) {
  const auto model = ir::load(options.model);
  ops::require_arity(*model);
  if (!options.output.empty()) ir::require_output(*model, options.output);
  run::prepare_sessions();
  confirm::ModelInputs known = confirm::look_at_inputs(*model, scope);
  run::RunCost cost = options.random ? confirm::cost_of_runs(*model, known.facts) : run::RunCost();
  return {std::move(known), std::move(cost)};
}

run::Feeder feeder_of(const RunArguments& options, std::vector<run::InputSpec> inputs, const dim::Scope& scope) {
  std::vector<std::filesystem::path> archives;
  FeedOptions feeds = options.run.feeds(archives, inputs);
  read_archives(archives, inputs, feeds);
  // Given element by element: '--values grid_thw[0]=1,grid_thw[1]=22,grid_thw[2]=30'.
  const auto has_elements = [&](const std::string& input) {
    const auto at = feeds.values.lower_bound(input + "[");
    return at != feeds.values.end() && at->first.starts_with(input + "[");
  };
  const bool draws = options.random || !options.sizes.empty();
  for (const run::InputSpec& input : inputs) {
    const bool given = feeds.arrays.contains(input.name) || feeds.values.contains(input.name) || input.has_default ||
                       feeds.ranges.contains(input.name) || has_elements(input.name);
    if (given || draws) continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("input '{}' is not given", input.name),
                 .where = options.model,
                 .expected = "an array for each input",
                 .next = fmt::format("give it with --input {}=FILE.npy, or draw it with --random", input.name)});
  }
  return {std::move(inputs), scope, std::move(feeds)};
}

[[noreturn]] void refuse_open_sizes(const RunArguments& options, const std::vector<run::FreeSymbol>& free) {
  std::string names;
  for (const run::FreeSymbol& symbol : free) names += fmt::format("{}{}=…", names.empty() ? "" : ",", symbol.name);
  throw Error(ErrorCode::kInvalidArgument, {.what = "sizes are missing",
                                            .where = options.model,
                                            .expected = "--sizes '" + names + "'",
                                            .next = "or let them be chosen with --random"});
}

void run_once(const RunArguments& options, run::Session& session, RunOutcome& outcome) {
  for (auto& [name, array] : outcome.feeds) {
    const Port* port = session.find_input(name);
    // Without --cast the session refuses it, and says how.
    if (options.cast && port != nullptr && port->dtype != array.dtype) array = run::cast(array, port->dtype);
  }
  const auto start = std::chrono::steady_clock::now();
  outcome.results = session.run(outcome.feeds, options.outputs);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// At sizes that nobody gave: the first that it runs at, chosen as `thaw verify` chooses them; the model's own at last.
void run_at_chosen_sizes(const RunArguments& options, run::ChosenSizes& choice, const run::Feeder& feeder,
                         const dim::Scope& scope, run::Session& session, RunOutcome& outcome) {
  std::optional<Error> last;
  const auto runs_at = [&](const run::Point& point) {
    try {
      outcome.feeds = feeder.make(point);
      outcome.chosen = point;
      run_once(options, session, outcome);
      return true;
    } catch (const run::RunTimedOut&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kRuntimeFailed) throw;
      last = error;
      return false;
    }
  };
  while (const auto point = choice.next()) {
    if (runs_at(*point)) return;
    choice.tell(false);
  }
  const NamedSizes own = confirm::own_input_sizes(*ir::load(options.model), feeder.inputs(), scope);
  const auto known = own.empty() ? std::nullopt : choice.with({own});
  if (known && runs_at(*known)) return;
  if (!last)
    throw Error(ErrorCode::kInvalidArgument, {.what = "has no sizes at which its inputs are small",
                                              .where = options.model,
                                              .expected = "sizes that are given",
                                              .next = "give them with --sizes"});
  ErrorParts parts = last->parts();
  parts.what =
      fmt::format("runs at none of the sizes that were tried; at {}: {}", run::describe(outcome.chosen), parts.what);
  parts.next = "give sizes that it takes with --sizes, and values with --values";
  throw Error(last->code(), std::move(parts));
}

RunOutcome run_model(const RunArguments& options) {
  RunOutcome outcome;
  dim::Scope scope;
  auto [known, cost] = checked_inputs(options, scope);
  const run::SizeConditions conditions(known.conditions);
  const run::Feeder feeder = feeder_of(options, std::move(known.inputs), scope);
  const run::Point point = feeder.canonical(point_of(options));
  const std::vector<run::FreeSymbol> free = feeder.free_symbols(point);
  if (!free.empty() && !options.random) refuse_open_sizes(options, free);
  std::optional<run::ChosenSizes> choice;
  if (options.random) choice.emplace(feeder, scope, conditions, cost, point);
  if (free.empty()) outcome.feeds = feeder.make(choice ? choice->with({}).value_or(point) : point);
  std::optional<run::Session> opened;
  try {
    run::Session& session = opened.emplace(std::filesystem::path(options.model), options.run.session);
    if (free.empty())
      run_once(options, session, outcome);
    else
      run_at_chosen_sizes(options, *choice, feeder, scope, session, outcome);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    throw with_rule(error, options.model);
  }
  for (const Port& port : opened->outputs()) {
    for (auto at = outcome.results.lower_bound(port.name); at != outcome.results.end(); ++at) {
      const bool sequence = port.kind == ir::Type::Kind::kSequence && at->first.starts_with(port.name + "[");
      if (at->first == port.name || sequence) outcome.order.push_back(at->first);
      if (!at->first.starts_with(port.name)) break;
    }
  }
  outcome.warnings = opened->take_warnings();
  return outcome;
}

void save(const RunArguments& options, const Arrays& results) {
  if (options.output.ends_with(".npz")) return run::write_npz_file(options.output, results);
  if (options.output.ends_with(".npy") && results.size() == 1) {
    return run::write_npy_file(options.output, results.begin()->second);
  }
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("cannot hold {} outputs", results.size()),
                                            .where = options.output,
                                            .expected = "a name that ends in .npz, or .npy for one output"});
}

std::string text_of(const RunArguments& options, const RunOutcome& outcome) {
  size_t name_width = 6, type_width = 4;
  for (const std::string& name : outcome.order) {
    name_width = std::max(name_width, report::width_of(report::printable(name)));
    type_width = std::max(type_width, run::describe(outcome.results.at(name)).size());
  }
  std::string text;
  for (const std::string& name : outcome.order) {
    const Array& array = outcome.results.at(name);
    const run::Summary summary = run::summarize(array);
    const std::string shown = report::printable(name);
    text += shown + std::string(name_width - report::width_of(shown) + 2, ' ');
    text += fmt::format("{:<{}}", run::describe(array), type_width);
    if (summary.lowest)
      text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", *summary.lowest, *summary.highest, *summary.mean);
    if (summary.nans > 0) text += fmt::format("  {} NaN", summary.nans);
    if (summary.infinities > 0) text += fmt::format("  {} infinite", summary.infinities);
    text += "\n";
  }
  for (const std::string& warning : outcome.warnings)
    text += "warning: ONNX Runtime: " + report::printable(warning) + "\n";
  if (!outcome.chosen.sizes.empty()) text += "at sizes that were chosen: " + run::describe(outcome.chosen) + "\n";
  text += fmt::format("ran in {:.3g} s", outcome.seconds);
  if (!options.output.empty()) text += ", written to " + report::printable(options.output);
  return text + "\n";
}

void write_array(report::JsonWriter& json, const std::string& name, const Array& array) {
  json.begin_object(report::JsonWriter::Layout::kLine);
  write_type(json, name, array);
  const run::Summary summary = run::summarize(array);
  if (summary.lowest) {
    json.member("min", *summary.lowest);
    json.member("max", *summary.highest);
    json.member("mean", *summary.mean);
  }
  json.member("nans", summary.nans);
  json.member("infinities", summary.infinities);
  json.end_object();
}

std::string json_of(const RunArguments& options, const RunOutcome& outcome) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  json.member_array("inputs");
  for (const auto& [name, array] : outcome.feeds) write_array(json, name, array);
  json.end_array();
  json.member_array("outputs");
  for (const std::string& name : outcome.order) write_array(json, name, outcome.results.at(name));
  json.end_array();
  if (!outcome.chosen.sizes.empty()) {
    json.member_object("sizes");
    for (const auto& [name, size] : outcome.chosen.sizes) json.member(name, size);
    json.end_object();
  }
  json.member("seconds", outcome.seconds);
  json.optional_member("written", options.output);
  json.member_array("warnings");
  for (const std::string& warning : outcome.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  return text + "\n";
}

int run_verb(const RunArguments& options) {
  std::error_code failed;
  if (std::filesystem::is_directory(options.model, failed))
    return run_folder(options.model, options.folder, options.run.session, options.format);
  if (options.folder.any() && !std::filesystem::exists(options.model, failed))
    throw Error(ErrorCode::kCannotRead, {.what = "there is no such folder",
                                         .where = options.model,
                                         .expected = "a folder that `thaw build --kv-cache` wrote"});
  if (options.folder.any())
    throw Error(ErrorCode::kInvalidArgument, {.what = "prompts are for the folder of a built checkpoint",
                                              .where = options.model,
                                              .expected = "a folder that `thaw build --kv-cache` wrote"});
  const RunOutcome outcome = run_model(options);
  if (!options.output.empty()) save(options, outcome.results);
  write_output(options.format == Format::kJson ? json_of(options, outcome) : text_of(options, outcome));
  return kFine;
}

}  // namespace

Action define_run(CLI::App& app) {
  auto options = std::make_shared<RunArguments>();
  add_model(app, options->model);
  add_run_options(app, options->run);
  app.add_option("--sizes", options->sizes,
                 "sizes of the inputs that are not given, which are drawn: 'batch=3,height=320'")
      ->type_name("SPEC");
  app.add_flag("--random", options->random, "draw the inputs that are not given, at sizes that the model runs at");
  add_list(app, "--outputs", options->outputs, "NAME", "run for these outputs only");
  app.add_flag("--cast", options->cast, "convert inputs of another element type");
  app.add_option("-o,--output", options->output, "write the outputs there: .npz, or .npy for one")->type_name("FILE");
  add_folder_options(app, options->folder);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw run onnx --image photo.jpg --prompt 'What is this?'\n"
      "thaw run model.onnx --input pixel_values=image.npy --values 'grid_thw=1,22,30' -o out.npz\n"
      "thaw run model.onnx --sizes 'batch=3,height=320,width=256'");
  return [options] { return run_verb(*options); };
}

}  // namespace thaw::cli
