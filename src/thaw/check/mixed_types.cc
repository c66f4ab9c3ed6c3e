// THAW021: element types that do not fit: an operand of a type that its operator does not take at the model's opset, by ONNX's
// schemas ("Type 'tensor(float)' of input parameter (idx) … is invalid"), or operands that must be of one type and are not
// ("Type parameter (T) bound to different types"), most often float16 fed where float32 is declared after half of a model was
// converted.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {

namespace {

constexpr size_t kMostListed = 4;  // types that a finding lists
constexpr int64_t kOpsetsAhead = 40;

class TypeRule {
 public:
  TypeRule(Evidence& evidence, Findings& findings) : evidence_(evidence), findings_(findings) {}

  void look_in(const ir::Graph& graph) {
    for (const ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) look_in(*inner);
      // A call of the model's own function takes what its body does.
      if (evidence_.model().find_function(node->domain(), node->op_type(), node->overload())) continue;
      const auto& types = types_of(*node, opset_of(*node));
      if (types && !look_at_each(*node, *types)) look_at_parameters(*node, *types);
    }
  }

 private:
  using Types = std::optional<ir::OperandTypes>;

  int64_t opset_of(const ir::Node& node) const { return evidence_.model().opset(node.domain()).value_or(1); }

  const Types& types_of(const ir::Node& node, int64_t opset) {
    const auto [location, is_new] = known_.try_emplace({node.domain(), node.op_type(), opset});
    if (is_new) location->second = ops::operand_types(node.domain(), node.op_type(), opset);
    return location->second;
  }

  // The element type of a tensor; kUndefined for what is none, or not known.
  ir::DataType type_of(const ir::Value* value) {
    const ops::Fact& fact = evidence_.inferred().fact(value);
    return value && fact.is_tensor() ? fact.dtype : ir::DataType::kUndefined;
  }

  // Each operand and each result by itself. True where one does not fit: what follows from it says no more.
  bool look_at_each(const ir::Node& node, const ir::OperandTypes& types) {
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (!fits(node.inputs()[i], types, types.input(i))) return report(node, node.inputs()[i], i, types, true);
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (!fits(node.outputs()[i], types, types.output(i))) return report(node, node.outputs()[i], i, types, false);
    return false;
  }

  bool fits(const ir::Value* value, const ir::OperandTypes& types, std::string_view parameter) {
    const ir::DataType type = type_of(value);
    return type == ir::DataType::kUndefined || parameter.empty() || types.takes(parameter, type);
  }

  bool report(const ir::Node& node, const ir::Value* value, size_t index, const ir::OperandTypes& types,
              bool is_input) {
    const std::string_view parameter = is_input ? types.input(index) : types.output(index);
    const ir::DataType type = type_of(value);
    const std::string list = list_of(types, parameter);
    Finding& f =
        findings_.add(fmt::format("{} {} no {} {} {} at opset {}{}: '{}'", name_of(node), is_input ? "takes" : "gives",
                                  ir::name_of(type), is_input ? "as operand" : "as result", index, opset_of(node),
                                  list.empty() ? "" : fmt::format(", but {}", list), value->name()),
                      location_of(node));
    f.where.tensor = value->name();
    const int64_t newer = first_that_takes(node, index, type, is_input);
    if (newer > 0) {
      f.fix = fmt::format("opset {} has it; or put a Cast there", newer);
      // What does not load cannot be compared.
      f.commands = {fmt::format("thaw optimize {{}} -o newer.onnx --opset {} --no-check", newer)};
    } else {
      f.fix = "put a Cast there, or fix the operand's producer";
    }
    return true;
  }

  static std::string list_of(const ir::OperandTypes& types, std::string_view parameter) {
    const auto found = types.taken.find(parameter);
    if (found == types.taken.end()) return {};
    std::vector<std::string_view> names;
    for (int bit = 0; bit < 64; ++bit)
      if (found->second >> bit & 1) names.push_back(ir::name_of(static_cast<ir::DataType>(bit)));
    if (names.empty() || names.size() > kMostListed) return {};
    std::string list;
    for (size_t i = 0; i < names.size(); ++i)
      list += std::string(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + std::string(names[i]);
    return list;
  }

  // A later opset in which the operator takes that type there; 0: none that is known.
  int64_t first_that_takes(const ir::Node& node, size_t index, ir::DataType type, bool is_input) {
    if (!node.domain().empty()) return 0;
    const int64_t now = opset_of(node);
    for (int64_t opset = now + 1; opset <= now + kOpsetsAhead; ++opset) {
      const Types& types = types_of(node, opset);
      if (!types) break;
      const std::string_view parameter = is_input ? types->input(index) : types->output(index);
      if (!parameter.empty() && types->takes(parameter, type)) return opset;
    }
    return 0;
  }

  // Operands that share a type.
  void look_at_parameters(const ir::Node& node, const ir::OperandTypes& types) {
    // Those of a node with graphs are of types of their own.
    const ops::Operator* op = ops::registry().find(node);
    if (!op || op->op_class == ops::OpClass::kControl) return;
    std::map<std::string_view, const ir::Value*> first;  // by type parameter
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const ir::Value* value = node.inputs()[i];
      const std::string_view parameter = types.input(i);
      if (!ops::is_type_parameter(parameter) || type_of(value) == ir::DataType::kUndefined) continue;
      const auto [at, is_first] = first.emplace(parameter, value);
      const ir::DataType want = type_of(at->second), is = type_of(value);
      if (is_first || is == want) continue;
      Finding& f =
          findings_.add(fmt::format("{} takes operands of one type, but '{}' is {} and '{}' is {}", name_of(node),
                                    at->second->name(), ir::name_of(want), value->name(), ir::name_of(is)),
                        location_of(node));
      f.where.tensor = value->name();
      f.related.push_back({location_of(*at->second), std::string(ir::name_of(want))});
      f.fix = "put a Cast before the node, or convert the whole model";
      return;
    }
  }

  Evidence& evidence_;
  Findings& findings_;
  std::map<std::tuple<std::string, std::string, int64_t>, Types> known_;
};

}  // namespace

void look_for_mixed_types(Evidence& evidence, Findings& findings) {
  TypeRule(evidence, findings).look_in(*evidence.model().graph);
}

}  // namespace thaw::checking
