#include "thaw/cli/lift_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "thaw/run/elements.h"
#include "thaw/run/session.h"

namespace thaw::cli {
namespace {

// The shape of an input in a trace: as declared, or as the trace's sizes tell.
std::vector<int64_t> dims_in(const ir::Value& input, const lift::Trace& trace) {
  std::vector<int64_t> dims;
  for (const ir::DeclaredDim& dim : *input.type.shape) {
    const auto known = trace.sizes.find(dim.param);
    dims.push_back(dim.value ? *dim.value : known != trace.sizes.end() ? known->second : 1);
  }
  return dims;
}

run::Array draw(ir::DataType type, const std::vector<int64_t>& dims, std::mt19937& random) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<double> values(static_cast<size_t>(count));
  std::normal_distribution<double> normal;
  for (double& value : values) value = ir::is_floating(type) ? normal(random) : static_cast<double>(random() % 2);
  return run::Array::from_doubles(type, dims, values);
}

}  // namespace

std::vector<TraceCheck> compare_with_traces(const ir::Model& lifted, const std::vector<std::string>& paths,
                                            const std::vector<lift::Trace>& traces) {
  std::mt19937 random(7);
  run::Session result(lifted);
  std::vector<TraceCheck> checks;
  for (size_t k = 0; k < paths.size(); ++k) {
    const auto model = ir::load(paths[k]);
    run::Session trace(*model);
    run::Arrays feeds, own;
    for (const run::Port& port : result.inputs()) {
      if (port.has_default) continue;
      const auto values = traces[k].values.find(port.name);
      if (values != traces[k].values.end() && values->second.values.empty()) {
        feeds[port.name] = draw(port.dtype, values->second.dims, random);
      } else if (values != traces[k].values.end()) {
        std::vector<double> numbers(values->second.values.begin(), values->second.values.end());
        feeds[port.name] = run::Array::from_doubles(port.dtype, values->second.dims, numbers);
      } else if (const ir::Value* input = model->graph->find(port.name); input && input->type.shape) {
        feeds[port.name] = draw(port.dtype, dims_in(*input, traces[k]), random);
      }
      if (trace.find_input(port.name)) own[port.name] = feeds[port.name];
    }
    const run::Arrays wanted = trace.run(own), got = result.run(feeds);
    TraceCheck check{.trace = traces[k].name, .max_abs = 0, .agrees = true};
    for (const auto& [name, array] : wanted) {
      const auto other = got.find(name);
      if (other == got.end() || other->second.dims != array.dims) {
        check.agrees = false;
        check.max_abs = INFINITY;
        continue;
      }
      const std::vector<double> a = run::to_doubles(array), b = run::to_doubles(other->second);
      double largest = 1e-6, worst = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(a[i]));
        worst = std::max(worst, std::abs(a[i] - b[i]));
      }
      check.max_abs = std::max(check.max_abs, worst);
      check.agrees &= worst <= 1e-3 * largest;
    }
    checks.push_back(check);
  }
  return checks;
}

}  // namespace thaw::cli
