// THAW021: element types that do not fit: a node whose operands must be of one type and are not ("Type Error: Type
// parameter (T) bound to different types"), most often float16 fed where float32 is declared after half of a model was
// converted.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {

namespace {

// A type parameter ("T"), which operands share, rather than a type ("tensor(int64)").
bool is_parameter(std::string_view type) { return !type.empty() && type.find('(') == std::string_view::npos; }

void look_at_types(Evidence& evidence, const ir::Graph& graph, Findings& findings) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Attribute& a : node->attributes())
      if (const auto* g = a.as<std::shared_ptr<ir::Graph>>()) look_at_types(evidence, **g, findings);
    const ops::Operator* op = ops::registry().find(*node);
    if (!op || op->op_class == ops::OpClass::kControl) continue;
    const auto types =
        ops::operand_types(node->domain(), node->op_type(), evidence.model().opset(node->domain()).value_or(1));
    if (!types) continue;
    std::map<std::string_view, const ir::Value*> first;  // by type parameter
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const ir::Value* v = node->inputs()[i];
      const std::string_view parameter = types->input(i);
      if (!v || !is_parameter(parameter)) continue;
      const ops::Fact& fact = evidence.inferred().fact(v);
      if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined) continue;
      const auto [at, is_first] = first.emplace(parameter, v);
      const ir::DataType want = evidence.inferred().fact(at->second).dtype;
      if (is_first || fact.dtype == want) continue;
      Finding& f =
          findings.add(fmt::format("{} takes operands of one type, but '{}' is {} and '{}' is {}", name_of(*node),
                                   at->second->name(), ir::name_of(want), v->name(), ir::name_of(fact.dtype)),
                       place_of(*node));
      f.where.tensor = v->name();
      f.related.push_back({place_of(*at->second), std::string(ir::name_of(want))});
      f.fix = "put a Cast before the node, or convert the whole model";
      break;
    }
  }
}

}  // namespace

void look_for_mixed_types(Evidence& evidence, Findings& findings) {
  look_at_types(evidence, *evidence.model().graph, findings);
}

}  // namespace thaw::checking
