#include "thaw/ir/graph/schema.h"

#include <onnx/defs/schema.h>

namespace thaw::ir {
namespace {

const onnx::OpSchema* official_schema(std::string_view domain, std::string_view op_type, int64_t opset) {
  if (opset < 1 || opset > INT32_MAX) return nullptr;
  if (domain == "ai.onnx") domain = "";
  return onnx::OpSchemaRegistry::Schema(std::string(op_type), static_cast<int>(opset), std::string(domain));
}

// The type of each formal parameter, and whether the last may be repeated.
bool read_types(const std::vector<onnx::OpSchema::FormalParameter>& parameters, std::vector<std::string>& types) {
  types.reserve(parameters.size());
  for (const auto& parameter : parameters) types.push_back(parameter.GetTypeStr());
  return !parameters.empty() && parameters.back().GetOption() == onnx::OpSchema::Variadic;
}

}  // namespace

std::optional<OperatorSchema> find_schema(std::string_view domain, std::string_view op_type, int64_t opset) {
  const onnx::OpSchema* schema = official_schema(domain, op_type, opset);
  if (!schema) return std::nullopt;
  OperatorSchema known{.since_version = schema->since_version(),
                       .min_inputs = schema->min_input(),
                       .max_inputs = schema->max_input(),
                       .min_outputs = schema->min_output(),
                       .max_outputs = schema->max_output(),
                       .deprecated = schema->deprecated(),
                       .composed = schema->HasFunction() || schema->HasContextDependentFunction(),
                       .inputs = {},
                       .attributes = {},
                       .integer_defaults = {}};
  for (const auto& input : schema->inputs()) known.inputs.push_back(input.GetName());
  for (const auto& [name, attribute] : schema->attributes()) {
    known.attributes.push_back(name);
    if (attribute.type == onnx::AttributeProto::INT && attribute.default_value.has_i())
      known.integer_defaults.emplace_back(name, attribute.default_value.i());
  }
  return known;
}

std::optional<int64_t> first_opset(std::string_view domain, std::string_view op_type) {
  for (int64_t opset = 1; opset <= newest_opset(); ++opset)
    if (official_schema(domain, op_type, opset)) return opset;
  return std::nullopt;
}

std::optional<OperandTypes> find_operand_types(std::string_view domain, std::string_view op_type, int64_t opset) {
  const onnx::OpSchema* schema = official_schema(domain, op_type, opset);
  if (!schema) return std::nullopt;
  OperandTypes types;
  types.variadic_inputs = read_types(schema->inputs(), types.inputs);
  types.variadic_outputs = read_types(schema->outputs(), types.outputs);
  return types;
}

int64_t newest_opset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second;
}

}  // namespace thaw::ir
