#include "thaw/confirm/traces.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/reconsider.h"
#include "thaw/core/error.h"
#include "thaw/run/feeds.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

// The shape of an input in a trace: as declared, or as the trace's sizes tell.
std::vector<dim::Dim> dims_in(const ir::Value& input, const TraceToRun& trace) {
  std::vector<dim::Dim> dims;
  for (const ir::DeclaredDim& dim : *input.type.shape) {
    const auto known = trace.sizes.find(dim.param);
    dims.emplace_back(dim.value ? *dim.value : known != trace.sizes.end() ? known->second : 1);
  }
  return dims;
}

// What the lifted model is fed at a trace's size. most: indices stay below it.
Arrays feeds_at(const ir::Model& lifted, const ir::Model& model, const TraceToRun& trace,
                std::optional<int64_t> most = {}) {
  Arrays feeds;
  std::vector<run::InputSpec> drawn;
  dim::Scope scope;
  const std::map<std::string, infer::IntegerRange> ranges = infer::integer_ranges(model, infer::infer(model, scope));
  for (const ir::Value* input : lifted.graph->inputs()) {
    if (input->initializer() != nullptr) continue;
    const std::string& name = input->name();
    run::InputSpec spec{.name = name, .dtype = input->type.elem_type, .dims = {}};
    if (const auto range = ranges.find(name); range != ranges.end()) limit_to(range->second, spec);
    if (most && spec.index_bound) spec.index_bound = std::min(*spec.index_bound, *most);
    const ir::Value* own = model.graph->find(name);
    if (const auto given = trace.values.find(name); given != trace.values.end()) {
      const InputValues& values = given->second;
      if (!values.values.empty()) {
        feeds[name] = Array::from_int64(spec.dtype, values.dims, values.values);
        continue;
      }
      spec.dims.emplace(values.dims.begin(), values.dims.end());
    } else if (own != nullptr && own->type.shape) {
      spec.dims = dims_in(*own, trace);
    } else {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "its value is not given for '" + trace.name + "', and the trace does not tell its shape",
                   .where = "input '" + name + "'",
                   .expected = "a value to check the lifted model with",
                   .next = "give it with --trace-values, or pass --no-check"});
    }
    drawn.push_back(std::move(spec));
  }
  const dim::Scope none;
  feeds.merge(run::Feeder(std::move(drawn), none, {}).make({}));
  return feeds;
}

// Exporters number what nobody names: a trace's outputs stand where the lifted model's do, whatever they are called.
Arrays named_as(const ir::Model& lifted, const ir::Model& model, Arrays outputs) {
  const auto &names = lifted.graph->outputs(), &own = model.graph->outputs();
  if (names.size() != own.size()) return outputs;
  Arrays renamed;
  for (size_t i = 0; i < own.size(); ++i)
    if (const auto found = outputs.find(own[i]->name()); found != outputs.end())
      renamed.emplace(names[i]->name(), found->second);
  return renamed;
}

// What a trace gives, by the names of the lifted model.
Arrays outputs_of(const ir::Model& trace, const ir::Model& lifted, const Arrays& feeds, const SessionOptions& options) {
  run::Session session(trace, options);
  return named_as(lifted, trace, session.run(session.inputs_among(feeds)));
}

// Whether all but a few entries are the same, as they are where some rows and columns of a grid were taken from the entry before.
bool is_misread_of(const std::vector<double>& table, const std::vector<double>& misread) {
  constexpr double kClose = 1e-4, kShare = 0.75;
  if (table.size() != misread.size()) return false;
  double scale = 0;
  for (const double entry : table) scale = std::max(scale, std::abs(entry));
  size_t same = 0;
  for (size_t i = 0; i < table.size(); ++i) same += std::abs(table[i] - misread[i]) <= kClose * scale ? 1 : 0;
  return static_cast<double>(same) >= kShare * static_cast<double>(table.size());
}

// Puts into a trace what the lifted model has in the place of misread tables.
void correct(ir::Model& model, const TraceToRun& trace, const ir::Model* tables, const Arrays& feeds) {
  if (!tables || trace.misread.empty()) return;
  run::Session session(*tables);
  const Arrays made = session.run(session.inputs_among(feeds));
  for (const MisreadTable& misread : trace.misread) {
    const ir::Value* output = model.graph->find(misread.node);
    ir::Node* reader = output ? output->producer() : nullptr;
    const Array& array = made.at(misread.made);
    ir::Tensor table = ir::Tensor::from_bytes(model.graph->unique_name("table"), array.dtype, array.dims, array.bytes);
    if (!reader || !reader->input(misread.input) || !is_misread_of(table.to_double(), misread.entries)) continue;
    reader->set_input(misread.input, model.graph->add_initializer(std::move(table)));
  }
}

struct Ran {
  Arrays feeds, outputs;
};

// A trace on what may be fed to it. An index that is added to before it is read, as the codes of several codebooks in one table
// are, has less room than the table says.
Ran run_trace(const ir::Model& lifted, const TraceToRun& trace, const ir::Model* tables) {
  constexpr int64_t kFew[] = {16, 2};
  const auto model = ir::load(trace.path);
  const auto run = [&](Arrays feeds) {
    correct(*model, trace, tables, feeds);
    Arrays outputs = outputs_of(*model, lifted, feeds, {});
    return Ran{std::move(feeds), std::move(outputs)};
  };
  try {
    return run(feeds_at(lifted, *model, trace));
  } catch (const run::RunTimedOut&) {
    throw;
  } catch (const Error&) {
    for (const int64_t most : kFew) {
      try {
        return run(feeds_at(lifted, *model, trace, most));
      } catch (const Error&) {
        continue;
      }
    }
    throw;
  }
}

// How near a lifted model must be to its traces: both compute the same, but for tables, which one has as numbers and the other
// makes. What is 1e-4 off at the traces may be anything elsewhere.
constexpr double kTablesRound = 2e-5;
constexpr double kTimesItsNoise = 5;

Closeness closeness_to(const TraceToRun& trace, const ir::Model& lifted, const ir::Model* tables) {
  Closeness closeness = closeness_of(lifted);
  const bool is_misread = tables && trace.misread.empty();
  if (!is_misread && closeness.share <= Closeness().share) closeness.share = kTablesRound;
  return closeness;
}

// Where the trace itself rounds more than that: by what it differs with ONNX Runtime's optimizations and without.
Closeness with_noise(Closeness closeness, const Arrays& optimized, const Arrays& plain) {
  RunCheck noise;
  compare_outputs(optimized, plain, noise);
  const double share = kTimesItsNoise * noise.max_abs_diff / std::max(noise.max_abs_expected, closeness.least_scale);
  closeness.share = std::clamp(share, closeness.share, std::max(closeness.share, Closeness().share));
  return closeness;
}

}  // namespace

std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<TraceToRun>& traces,
                                          const ir::Model* tables) {
  if (std::string reason = lacks_memory(lifted); !reason.empty()) {
    throw Error(ErrorCode::kOutOfBudget, {.what = std::move(reason),
                                          .where = "the check of the lifted model",
                                          .expected = "memory to run it beside its traces",
                                          .next = "pass --no-check to write it unchecked"});
  }
  std::vector<Arrays> feeds, wanted;
  for (size_t k = 0; k < traces.size(); ++k) {
    Ran ran = run_trace(lifted, traces[k], tables);
    feeds.push_back(std::move(ran.feeds));
    wanted.push_back(std::move(ran.outputs));
  }
  std::vector<RunCheck> checks;
  std::optional<run::Session> result;
  for (size_t k = 0; k < traces.size(); ++k) {
    RunCheck& check = checks.emplace_back();
    check.name = traces[k].name;
    note_inputs(feeds[k], check);
    try {
      if (!result) result.emplace(lifted);
      compare_outputs(wanted[k], result->run(feeds[k]), check, closeness_to(traces[k], lifted, tables));
    } catch (const run::RunTimedOut& error) {
      fail_check(check, error.what());
      break;
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
  }
  result.reset();
  for (size_t k = 0; k < checks.size(); ++k) {
    reconsider(checks[k], [&](RunCheck& again) {
      const auto trace = ir::load(traces[k].path);
      correct(*trace, traces[k], tables, feeds[k]);
      const Arrays own = outputs_of(*trace, lifted, feeds[k], as_it_is_written());
      compare_outputs(own, run::Session(lifted, as_it_is_written()).run(feeds[k]), again,
                      with_noise(closeness_to(traces[k], lifted, tables), wanted[k], own));
    });
  }
  return checks;
}

}  // namespace thaw::confirm
