#include "thaw/lift/lift.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/dim/text.h"
#include "thaw/lift/align.h"
#include "thaw/lift/evidence.h"
#include "thaw/lift/table.h"
#include "thaw/pass/declare.h"
#include "thaw/pass/remove_unused.h"

namespace thaw::lift {
namespace {

// Inputs whose dims differ get names, added inputs come into being, and outputs and inner tensors are declared anew.
void declare_inputs(ir::Model& model, const std::vector<Variable>& variables, const std::vector<Trace>& traces,
                    const Options& options, const dim::Scope& scope,
                    std::unordered_map<const ir::Value*, ops::Shape>& shapes) {
  for (ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    ops::Shape& shape = shapes[input];
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      ir::DeclaredDim& dim = (*input->type.shape)[axis];
      std::vector<int64_t> at;
      for (const Trace& trace : traces) {
        for (const ir::Value* other : trace.model->graph->inputs()) {
          const auto& declared = other->type.shape;
          if (other->name() == input->name() && declared && (*declared)[axis].value)
            at.push_back(*(*declared)[axis].value);
        }
      }
      const auto variable = std::find_if(variables.begin(), variables.end(), [&](const Variable& v) {
        if (!v.is_dim) return false;
        const std::string& name = scope.symbols()[static_cast<size_t>(scope.symbol_id(v.symbol))].name;
        return dim.param.empty() ? v.at == at : name == dim.param;
      });
      if (variable != variables.end()) {
        dim = {std::nullopt, scope.symbols()[static_cast<size_t>(scope.symbol_id(variable->symbol))].name, {}};
        shape.push_back(variable->symbol);
      } else {
        shape.push_back(dim.value ? dim::Dim(*dim.value) : dim::Dim());
      }
    }
  }
  for (const AddedInput& added : options.added) {
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : added.dims) dims.push_back({size, {}, {}});
    model.graph->add_input(added.name, ir::Type::tensor(added.type, std::move(dims)));
  }
}

void forget_declarations(ir::Graph& graph) {
  const std::vector<ir::Value*> declared = graph.value_infos();
  for (ir::Value* value : declared) graph.clear_value_info(value);
  for (ir::Value* output : graph.outputs()) {
    if (!output->type.shape) continue;
    for (ir::DeclaredDim& dim : *output->type.shape) dim = {};
  }
}

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

std::vector<std::string> texts(const std::vector<int64_t>& numbers) {
  std::vector<std::string> result;
  for (const int64_t number : numbers) result.push_back(std::to_string(number));
  return result;
}

}  // namespace

Report lift(std::vector<Trace>& traces, const Options& options) {
  if (traces.size() < 2) {
    throw Error({.what = "one trace does not tell how its constants grow",
                 .where = "thaw lift",
                 .expected = "two or more traces of one model at different sizes",
                 .next = "export the model at another size too"});
  }
  dim::Scope scope;
  const std::vector<Variable> variables = find_variables(traces, options.added, scope);
  Report report;
  for (const Variable& v : variables)
    report.variables.push_back({dim::to_string(v.symbol), fmt::format("{}", fmt::join(v.at, ", ")), texts(v.at)});
  const Alignment alignment = align(traces);
  for (const std::string& clause : alignment.unaligned)
    report.unexplained.push_back({clause, "only constants are lifted"});

  const Solver solver(variables);
  TableContext context{variables, solver, {}};
  // Every layer of a tower has tables of its own that are the same: each is fitted, and made, once.
  struct Group {
    std::vector<const Difference*> readers;
    TableFit fit;
  };
  std::vector<Group> fits;
  for (const Difference& difference : alignment.differences) {
    if (options.keep_static.contains(difference.value->name())) continue;
    std::string reason;
    const auto known = std::find_if(fits.begin(), fits.end(), [&](const Group& group) {
      return same_tables(group.readers.front()->tensors, difference.tensors);
    });
    if (known != fits.end()) {
      report.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
      known->readers.push_back(&difference);
    } else if (auto fit = fit_table(difference.tensors, context, reason)) {
      report.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
      fits.push_back({{&difference}, std::move(*fit)});
    } else {
      report.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
    }
  }
  if (!report.unexplained.empty()) return report;

  ir::Model& model = *traces.front().model;
  std::unordered_map<const ir::Value*, ops::Shape> shapes;
  declare_inputs(model, variables, traces, options, scope, shapes);
  pass::DimEmitter sizes(model, shapes);
  for (const Variable& v : variables) {
    if (v.is_dim) continue;
    sizes.read_from(v.symbol, model.graph->find(v.input), v.index);
  }
  TableEmitter emitter(model, sizes);
  for (const Group& group : fits) {
    ir::Value* computed = group.fit.emit(emitter);
    for (const Difference* reader : group.readers) {
      ir::Value* frozen = reader->node->input(reader->input);
      model.graph->replace_uses(frozen, computed);
    }
  }
  forget_declarations(*model.graph);
  pass::remove_unused(model);
  pass::FixReport ignored;
  pass::declare_truly(model, ignored);
  return report;
}

}  // namespace thaw::lift
