#include "thaw/inspect.h"

#include <fmt/format.h>

#include "thaw/core/call_clock.h"
#include "thaw/ir/graph/location.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/graph_page.h"
#include "thaw/report/inspection.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/rewrite/annotate.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/output.h"

namespace thaw {
namespace {

report::InspectionView view_of(const InspectOptions& options) {
  return {.values = options.tensors, .weights = options.weights, .cost = options.cost, .only = options.only};
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
    return {.where = ir::location_of(*obligation.node).node, .message = report::condition_text(obligation, dims_)};
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
  for (const ir::Value* input : seen.inputs()) out.inputs.push_back(describer.tensor(*input, options.tensors));
  for (const ir::Value* output : graph.graph->outputs())
    out.outputs.push_back(describer.tensor(*output, options.tensors));
  seen.each_value([&](const ir::Value& value, const ir::Node& node) {
    if (!report::is_listed(view, value.name())) return;
    out.tensors.push_back(describer.tensor(value, options.tensors));
    out.tensors.back().op = ir::operator_name(node);
  });
  for (const dim::SymbolInfo& info : report::symbols_of(seen)) out.symbols.push_back(symbol_of(info));
  for (const infer::Problem& problem : seen.result.problems())
    out.problems.push_back({.where = ir::location_of(*problem.node).node, .message = problem.message});
  for (const ops::Obligation& obligation : seen.result.obligations())
    out.obligations.push_back(describer.condition(obligation));
  out.out_of_budget = seen.result.out_of_budget();
  out.unknown_operators = seen.result.unknown_operators();
  out.operators = report::operator_counts(graph);
  out.producer = report::producer_of(graph);
  out.ir_version = graph.ir_version;
  const report::WeightTotals weights = report::weigh(graph);
  out.num_weights = weights.count;
  out.overridable_initializers = rewrite::count_replaceable(graph);
  out.weight_bytes = weights.bytes;
  out.external_bytes = weights.external;
  return out;
}

Annotation annotate(Model& model, const Output& output) {
  const CallClock clock;
  const ir::Model& given = ModelAccess::begin(model);
  verbs::require_output(given, output);
  verbs::require_renames(*ModelAccess::owner(model), output);
  std::unique_ptr<ir::Model> annotated = ir::clone(given);
  const report::Inspection seen = report::inspect(*annotated);
  Annotation made{.tensors = rewrite::annotate(*annotated, seen.result, *seen.scope)};
  verbs::publish(*annotated, output, {.original = &given, .is_checked = false}).tell(made);
  if (!made.accepted()) return made;
  ModelAccess::owner(model) = std::move(annotated);
  return made;
}

std::string inspect_json(const Model& model, const InspectOptions& options, const Annotation* made) {
  const report::Inspection seen = report::inspect(ModelAccess::begin(model), options.sizes);
  return report::inspection_json(seen, view_of(options), [&](report::JsonWriter& json) {
    if (!made) return;
    json.member("annotated_tensors", made->tensors);
    report::write_output_member(json, made->files);
    report::write_load_check(json, made->load_check);
    report::write_files_member(json, made->files);
  });
}

std::string inspect_text(const Model& model, const InspectOptions& options, const TextOptions& how,
                         const Annotation* made) {
  const report::Inspection seen = report::inspect(ModelAccess::begin(model), options.sizes);
  std::string text = report::inspection_text(seen, view_of(options), report::Style(how.colour));
  if (made)
    text += fmt::format("\nannotated {}\n{}{}", report::counted(made->tensors, "tensor"),
                        report::load_check_text(made->load_check), report::written_text(made->files));
  return text;
}

std::string inspect_html(const Model& model, const InspectOptions& options) {
  return report::inspection_page(report::inspect(ModelAccess::begin(model), options.sizes));
}

}  // namespace thaw
