#include "thaw/run.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/in_memory.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/report/graph_page.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/model_source.h"
#include "thaw/run/npz.h"
#include "thaw/run/session.h"
#include "thaw/run/sweep.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/failure_hint.h"
#include "thaw/verbs/feeds.h"

namespace thaw {
namespace {

run::Point point_of(const RunOptions& options) {
  if (options.sizes.empty()) return {};
  std::vector<run::Point> points = run::choose_points(dim::parse_range_spec(options.sizes));
  if (points.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("has {} sets of sizes", points.size()),
                                              .where = "--sizes '" + options.sizes + "'",
                                              .expected = "one size for each name",
                                              .next = "use `thaw verify` to run at several"});
  }
  return points.front();
}

// What Thaw itself reads of the model, before ONNX Runtime opens it.
struct KnownModel {
  confirm::ModelInputs inputs;
  run::RunCost cost;
};

KnownModel look_at(const run::ModelSource& source, const RunOptions& options, dim::Scope& scope) {
  const auto model = source.read();
  ops::require_arity(*model);
  if (!options.output.empty()) ir::require_output(*model, options.output);
  run::prepare_sessions();
  confirm::ModelInputs inputs = confirm::look_at_inputs(*model, scope);
  run::RunCost cost = options.random ? confirm::cost_of_runs(*model, inputs.facts) : run::RunCost();
  return {std::move(inputs), std::move(cost)};
}

run::Feeder feeder_of(const RunOptions& options, std::vector<run::InputSpec> inputs, const dim::Scope& scope) {
  FeedOptions feeds = verbs::with_files(options.feeds, inputs);
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
                {.what = fmt::format("no array is given for input '{}'", input.name),
                 .where = options.model.string(),
                 .expected = "an array for each input",
                 .next = fmt::format("give it with --input {}=FILE.npy, or draw it with --random", input.name)});
  }
  return {std::move(inputs), scope, std::move(feeds)};
}

[[noreturn]] void refuse_open_sizes(const RunOptions& options, const std::vector<run::FreeSymbol>& free) {
  std::string names;
  for (const run::FreeSymbol& symbol : free) names += fmt::format("{}{}=…", names.empty() ? "" : ",", symbol.name);
  throw Error(ErrorCode::kInvalidArgument, {.what = "sizes are missing",
                                            .where = options.model.string(),
                                            .expected = "--sizes '" + names + "'",
                                            .next = "or let them be chosen with --random"});
}

void run_once(const RunOptions& options, run::Session& session, RunReport& report) {
  for (auto& [name, array] : report.inputs) {
    const Port* port = session.find_input(name);
    // Without --cast the session refuses it, and says how.
    if (options.cast && port != nullptr && port->dtype != array.dtype) array = run::cast(array, port->dtype);
  }
  const auto start = std::chrono::steady_clock::now();
  report.outputs = session.run(report.inputs, options.outputs);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// At sizes that nobody gave: the first that it runs at, chosen as `thaw verify` chooses them; the model's own at last.
void run_at_chosen_sizes(const run::ModelSource& source, const RunOptions& options, run::ChosenSizes& choice,
                         const run::Feeder& feeder, const dim::Scope& scope, run::Session& session, RunReport& report) {
  std::optional<Error> last;
  const auto runs_at = [&](const run::Point& point) {
    try {
      report.inputs = feeder.make(point);
      report.sizes = point.sizes;
      run_once(options, session, report);
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
  const NamedSizes own = confirm::own_input_sizes(*source.read(), feeder.inputs(), scope);
  const auto known = own.empty() ? std::nullopt : choice.with({own});
  if (known && runs_at(*known)) return;
  if (!last)
    throw Error(ErrorCode::kInvalidArgument, {.what = "has no sizes at which its inputs are small",
                                              .where = options.model.string(),
                                              .expected = "sizes that are given",
                                              .next = "give them with --sizes"});
  ErrorParts parts = last->parts();
  parts.what = fmt::format("runs at none of the sizes that were tried; at {}: {}",
                           run::describe(run::Point{report.sizes}), parts.what);
  parts.next = "give sizes that it takes with --sizes, and values with --values";
  throw Error(last->code(), std::move(parts));
}

std::vector<std::string> in_order(const std::vector<Port>& outputs, const Arrays& results) {
  std::vector<std::string> order;
  for (const Port& port : outputs) {
    for (auto at = results.lower_bound(port.name); at != results.end(); ++at) {
      const bool sequence = port.kind == ir::Type::Kind::kSequence && at->first.starts_with(port.name + "[");
      if (at->first == port.name || sequence) order.push_back(at->first);
      if (!at->first.starts_with(port.name)) break;
    }
  }
  return order;
}

void write_outputs(const std::filesystem::path& path, const Arrays& results) {
  if (path.extension() == ".npz") return run::write_npz_file(path, results);
  if (path.extension() == ".npy" && results.size() == 1) return run::write_npy_file(path, results.begin()->second);
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("cannot hold {} outputs", results.size()),
                                            .where = path.string(),
                                            .expected = "a name that ends in .npz, or .npy for one output"});
}

RunReport run_source(const run::ModelSource& source, const RunOptions& options) {
  const CallClock clock;
  RunReport report;
  report.model = options.model.string();
  dim::Scope scope;
  auto [known, cost] = look_at(source, options, scope);
  const run::SizeConditions conditions(known.conditions);
  const run::Feeder feeder = feeder_of(options, std::move(known.inputs), scope);
  const run::Point point = feeder.canonical(point_of(options));
  const std::vector<run::FreeSymbol> free = feeder.free_symbols(point);
  if (!free.empty() && !options.random) refuse_open_sizes(options, free);
  std::optional<run::ChosenSizes> choice;
  if (options.random) choice.emplace(feeder, scope, conditions, cost, point);
  if (free.empty()) report.inputs = feeder.make(choice ? choice->with({}).value_or(point) : point);
  std::optional<run::Session> opened;
  try {
    SessionOptions how = options.session;
    how.profile |= options.placement;
    run::Session& session = opened.emplace(source.open(how));
    if (free.empty())
      run_once(options, session, report);
    else
      run_at_chosen_sizes(source, options, *choice, feeder, scope, session, report);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    throw verbs::with_rule(error, options.model.string());
  }
  report.order = in_order(opened->outputs(), report.outputs);
  report.warnings = opened->take_warnings();
  report.runtime = opened->runtime();
  if (options.placement) report.placement = opened->placement();
  if (!options.output.empty()) write_outputs(options.output, report.outputs);
  report.output = options.output.string();
  return report;
}

}  // namespace

RunReport run_model(const RunOptions& options) { return run_source(options.model, options); }

std::string to_html(const RunReport& report, const Model& model) {
  return report::placement_page(report, report::inspect(ModelAccess::begin(model)));
}

RunReport run_model(const Model& model, const RunOptions& given) {
  const run::ModelSource source(ModelAccess::of(model));
  RunOptions options = given;
  options.model = source.path();
  return run_source(source, options);
}

}  // namespace thaw
