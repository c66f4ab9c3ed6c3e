// THAW021: element types that do not fit: a node whose operands must be of one type and are not ("Type Error: Type
// parameter (T) bound to different types"), most often float16 fed where float32 is declared after half of a model was
// converted.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::check {

namespace {

// Operators all of whose tensor operands share one type parameter.
constexpr std::array<std::string_view, 27> kOneType = {"Add",
                                                       "Sub",
                                                       "Mul",
                                                       "Div",
                                                       "Min",
                                                       "Max",
                                                       "Sum",
                                                       "Mean",
                                                       "MatMul",
                                                       "Gemm",
                                                       "Conv",
                                                       "Concat",
                                                       "ConvTranspose",
                                                       "PRelu",
                                                       "Equal",
                                                       "Less",
                                                       "Greater",
                                                       "LessOrEqual",
                                                       "GreaterOrEqual",
                                                       "InstanceNormalization",
                                                       "LSTM",
                                                       "GRU",
                                                       "RNN",
                                                       "Einsum",
                                                       "And",
                                                       "Or",
                                                       "Xor"};

bool is_one_type(const ir::Node& node) {
  return node.domain().empty() && std::find(kOneType.begin(), kOneType.end(), node.op_type()) != kOneType.end();
}

void look_in(Evidence& evidence, const ir::Graph& graph, Findings& findings) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Attribute& a : node->attributes())
      if (const auto* g = a.as<std::shared_ptr<ir::Graph>>()) look_in(evidence, **g, findings);
    if (!is_one_type(*node)) continue;
    const ir::Value* first = nullptr;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const ir::Value* v = node->inputs()[i];
      // A recurrent operator's sequence lengths are int32 beside float data.
      if (!v || (i == 4 && node->inputs().size() > 4 && node->op_type() != "Concat")) continue;
      const ops::Fact& fact = evidence.inferred().fact(v);
      if (!fact.is_tensor() || fact.dtype == ir::DataType::kUndefined) continue;
      if (!first) {
        first = v;
        continue;
      }
      ir::DataType want = evidence.inferred().fact(first).dtype;
      if (fact.dtype == want) continue;
      Finding& f =
          findings.add(fmt::format("{} takes operands of one type, but '{}' is {} and '{}' is {}", name_of(*node),
                                   first->name(), ir::name_of(want), v->name(), ir::name_of(fact.dtype)),
                       place_of(*node));
      f.where.tensor = v->name();
      f.related.push_back({place_of(*first), std::string(ir::name_of(want))});
      f.fix = "put a Cast before the node, or convert the whole model";
      break;
    }
  }
}

}  // namespace

void look_for_mixed_types(Evidence& evidence, Findings& findings) {
  look_in(evidence, *evidence.model().graph, findings);
}

}  // namespace thaw::check
