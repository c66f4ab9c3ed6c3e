#include "thaw/cli/lift_check.h"

#include "thaw/core/error.h"
#include "thaw/run/feeds.h"
#include "thaw/run/index_bounds.h"
#include "thaw/run/session.h"

namespace thaw::cli {
namespace {

// The shape of an input in a trace: as declared, or as the trace's sizes tell.
std::vector<dim::Dim> dims_in(const ir::Value& input, const lift::Trace& trace) {
  std::vector<dim::Dim> dims;
  for (const ir::DeclaredDim& dim : *input.type.shape) {
    const auto known = trace.sizes.find(dim.param);
    dims.emplace_back(dim.value ? *dim.value : known != trace.sizes.end() ? known->second : 1);
  }
  return dims;
}

// What the lifted model is fed at a trace's size.
run::Arrays feeds_at(const run::Session& lifted, const ir::Model& model, const lift::Trace& trace) {
  run::Arrays feeds;
  std::vector<run::InputSpec> drawn;
  std::map<std::string, int64_t> bounds = run::index_bounds(*model.graph);
  for (const run::Port& port : lifted.inputs()) {
    if (port.has_default) continue;
    run::InputSpec spec{.name = port.name, .dtype = port.dtype, .dims = {}, .index_bound = {}};
    if (const auto bound = bounds.find(port.name); bound != bounds.end()) spec.index_bound = bound->second;
    const ir::Value* input = model.graph->find(port.name);
    if (const auto given = trace.values.find(port.name); given != trace.values.end()) {
      const lift::InputValues& values = given->second;
      if (!values.values.empty()) {
        feeds[port.name] = run::Array::from_int64(port.dtype, values.dims, values.values);
        continue;
      }
      spec.dims.emplace(values.dims.begin(), values.dims.end());
    } else if (input != nullptr && input->type.shape) {
      spec.dims = dims_in(*input, trace);
    } else {
      throw Error({.what = "its value is not given for '" + trace.name + "', and the trace does not tell its shape",
                   .where = "input '" + port.name + "'",
                   .expected = "a value to check the lifted model with",
                   .next = "give it with --values, or pass --no-check"});
    }
    drawn.push_back(std::move(spec));
  }
  const dim::Scope none;
  feeds.merge(run::Feeder(std::move(drawn), none, {}).make({}));
  return feeds;
}

}  // namespace

std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<std::string>& paths,
                                          const std::vector<lift::Trace>& traces) {
  run::Session result(lifted);
  std::vector<RunCheck> checks;
  for (size_t k = 0; k < paths.size(); ++k) {
    const auto model = ir::load(paths[k]);
    run::Session trace(*model);
    const run::Arrays feeds = feeds_at(result, *model, traces[k]);
    RunCheck& check = checks.emplace_back();
    check.name = traces[k].name;
    note_inputs(feeds, check);
    run::Arrays own;
    for (const auto& [name, array] : feeds)
      if (trace.find_input(name) != nullptr) own.emplace(name, array);
    const run::Arrays wanted = trace.run(own);
    try {
      compare_outputs(wanted, result.run(feeds), check);
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
  }
  return checks;
}

}  // namespace thaw::cli
