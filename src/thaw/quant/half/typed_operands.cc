#include "thaw/quant/half/typed_operands.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include <fmt/format.h>

#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing {
namespace {

// Attributes that say the element type of results. "value" holds a tensor.
constexpr std::array<std::string_view, 3> kTypeAttributes = {"to", "output_dtype", "value"};
// The same; but ONNX Runtime casts around what it has no kernel of a type for by the types of operands, and by attributes not; few
// of its kernels make float16 by one of these.
constexpr std::array<std::string_view, 2> kFixedTypeAttributes = {"dtype", "output_datatype"};

enum class Held : uint8_t { kFloat, kOther, kFloatsInside, kUnknown };

Held held_by(const ops::Fact& fact) {
  using Kind = ops::Fact::Kind;
  if (fact.kind == Kind::kUnknown) return Held::kUnknown;
  if (fact.is_tensor())
    return fact.dtype == ir::DataType::kFloat       ? Held::kFloat
           : fact.dtype == ir::DataType::kUndefined ? Held::kUnknown
                                                    : Held::kOther;
  if (!fact.element) return Held::kUnknown;
  const Held inside = held_by(*fact.element);
  return inside == Held::kOther || inside == Held::kUnknown ? inside : Held::kFloatsInside;
}

// Of results that no operand's type decides: the first of `names` that the node has, or could have.
std::string type_attribute(const ir::Node& node, int64_t opset, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (node.attribute(name)) return std::string(name);
  const auto schema = ir::find_schema(node.domain(), node.op_type(), opset);
  if (!schema) return {};
  for (const std::string_view name : names)
    if (std::ranges::find(schema->attributes, name) != schema->attributes.end()) return std::string(name);
  return {};
}

// Why the type is more than what the numbers are held in; empty where it is not.
std::string why_bound(const ir::Node& node, const ops::Operator* op) {
  if (node.attribute("to") && !(op && op->converts)) return "it reads the bits of a type as those of another";
  for (const ir::Attribute& attribute : node.attributes()) {
    const auto* tensor = attribute.as<std::shared_ptr<ir::Tensor>>();
    if (tensor && *tensor && (*tensor)->data_type == ir::DataType::kFloat && attribute.name != "value")
      return fmt::format("its attribute '{}' is float32", attribute.name);
  }
  return {};
}

std::string name_of_type(ir::DataType type) { return std::string(ir::name_of(type)); }

}  // namespace

TypedOperands typed_operands(const ir::Node& node, const ir::Model& model, const infer::Result& facts,
                             ir::DataType to) {
  TypedOperands found;
  std::vector<int> inputs, outputs;  // of float32
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    if (!node.input(i)) continue;
    const Held held = held_by(facts.fact(node.input(i)));
    if (held == Held::kFloat) inputs.push_back(i);
    if (held == Held::kUnknown) found.why_not = "the type of an operand is not known";
    if (held == Held::kFloatsInside) found.why_not = "it reads a sequence of float32";
  }
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (!node.output(i)) continue;
    const Held held = held_by(facts.fact(node.output(i)));
    if (held == Held::kFloat) outputs.push_back(i);
    if (held == Held::kUnknown) found.why_not = "the type of a result is not known";
    if (held == Held::kFloatsInside) found.why_not = "it makes a sequence of float32";
  }
  if (!node.subgraphs().empty()) found.why_not = "the inputs and outputs of its subgraphs stay unchanged";
  const ops::Operator* op = ops::registry().find(node);
  if (found.why_not.empty()) found.why_not = why_bound(node, op);
  const int64_t opset = model.opset(node.domain()).value_or(1);
  const auto types = ops::operand_types(node.domain(), node.op_type(), opset);
  if (!types && found.why_not.empty())
    found.why_not = fmt::format("the supported types of {} are unknown", ir::operator_name(node));
  if (!found.why_not.empty()) {
    found.fixed_inputs = std::move(inputs);
    return found;
  }

  const auto& taken = to == ir::DataType::kFloat16 ? types->of_float16 : types->of_bfloat16;
  std::set<std::string_view> bound;  // type parameters of operands that are computed with
  for (const int i : inputs) {
    const std::string_view parameter = types->input(static_cast<size_t>(i));
    const bool is_shared = std::ranges::find(types->outputs, parameter) != types->outputs.end();
    if (!is_shared && op && (op->converts || ops::is_unread(op->operands[i]))) continue;
    if (taken.contains(parameter)) {
      found.inputs.push_back(i);
      bound.insert(parameter);
    } else {
      found.fixed_inputs.push_back(i);
    }
  }
  for (const int i : outputs) {
    const std::string_view parameter = types->output(static_cast<size_t>(i));
    if (!taken.contains(parameter)) continue;
    if (!bound.contains(parameter)) {
      if (found.attribute.empty()) found.attribute = type_attribute(node, opset, kTypeAttributes);
      if (found.attribute.empty()) continue;  // it stays what it is
    }
    found.outputs.push_back(i);
  }
  if (found.inputs.empty() && found.outputs.empty() && !(inputs.empty() && outputs.empty()))
    found.why_not =
        type_attribute(node, opset, kFixedTypeAttributes).empty()
            ? fmt::format("{} takes no {} in opset {}", ir::operator_name(node), name_of_type(to), opset)
            : fmt::format("its type is an attribute, and few ONNX Runtime kernels output {} by one", name_of_type(to));
  return found;
}

}  // namespace thaw::quantizing
