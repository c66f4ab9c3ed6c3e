#include "thaw/inspect.h"

#include "thaw/ir/graph/place.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/inspection.h"
#include "thaw/verbs/access.h"

namespace thaw {
namespace {

report::InspectionView view_of(const InspectOptions& options) {
  return {.values = options.values, .weights = options.weights, .cost = options.cost, .only = options.only};
}

class Describer {
 public:
  explicit Describer(const report::Inspection& seen) : seen_(seen) {}

  TensorInfo tensor(const ir::Value& value, bool elements) {
    const ops::Fact& fact = seen_.result.fact(&value);
    TensorInfo info{.name = value.name(), .type = report::type_text(fact), .dims = {}, .op = {}, .elements = {}};
    if (fact.shape) {
      info.dims.emplace();
      for (const dim::Dim dim : *fact.shape) info.dims->push_back(dims_.show(dim));
    }
    if (elements)
      for (const dim::Dim dim : report::integer_elements(fact)) info.elements.push_back(dims_.show(dim));
    return info;
  }

  Note condition(const ops::Obligation& obligation) {
    return {.where = ir::place_of(*obligation.node).node, .message = report::condition_text(obligation, dims_)};
  }

 private:
  const report::Inspection& seen_;
  report::DimText dims_;
};

SizeSymbol symbol_of(const dim::SymbolInfo& info) {
  static_assert(static_cast<int>(SizeSymbol::Kind::kDataDependent) ==
                static_cast<int>(dim::SymbolKind::kDataDependent));
  return {.name = info.name,
          .kind = static_cast<SizeSymbol::Kind>(info.kind),
          .lowest = info.lower,
          .highest = info.upper,
          .modulus = info.modulus,
          .remainder = info.remainder};
}

}  // namespace

Inspection inspect(const Model& model, const InspectOptions& options) {
  const ir::Model& graph = ModelAccess::begin(model);
  const report::Inspection seen = report::inspect(graph, options.sizes);
  const report::InspectionView view = view_of(options);
  Describer describer(seen);
  Inspection out;
  for (const ir::Value* input : seen.inputs()) out.inputs.push_back(describer.tensor(*input, options.values));
  for (const ir::Value* output : graph.graph->outputs())
    out.outputs.push_back(describer.tensor(*output, options.values));
  seen.each_value([&](const ir::Value& value, const ir::Node& node) {
    if (!report::is_listed(view, value.name())) return;
    out.values.push_back(describer.tensor(value, options.values));
    out.values.back().op = ir::operator_name(node);
  });
  for (const dim::SymbolInfo& info : report::symbols_of(seen)) out.symbols.push_back(symbol_of(info));
  for (const infer::Problem& problem : seen.result.problems())
    out.problems.push_back({.where = ir::place_of(*problem.node).node, .message = problem.message});
  for (const ops::Obligation& obligation : seen.result.obligations())
    out.conditions.push_back(describer.condition(obligation));
  out.out_of_budget = seen.result.out_of_budget();
  out.unknown_operators = seen.result.unknown_operators();
  out.operators = report::operator_counts(graph);
  out.producer = report::producer_of(graph);
  out.ir_version = graph.ir_version;
  const report::WeightTotals weights = report::weigh(graph);
  out.num_weights = weights.count;
  out.weight_bytes = weights.bytes;
  out.external_bytes = weights.external;
  return out;
}

std::string inspect_json(const Model& model, const InspectOptions& options) {
  return report::inspection_json(report::inspect(ModelAccess::begin(model), options.sizes), view_of(options));
}

std::string inspect_text(const Model& model, const InspectOptions& options, const TextOptions& how) {
  return report::inspection_text(report::inspect(ModelAccess::begin(model), options.sizes), view_of(options),
                                 report::Style(how.colour));
}

}  // namespace thaw
