// Writes what the official ONNX library knows of operators as a table, so that the library thaw needs neither it nor
// Protobuf when it runs.
//
//   schema_table > schema_table.inc
//
// A row is {domain, name, since_version, inputs, outputs, deprecated, composed, attributes}, inputs and outputs each
// {least, most, variadic, required, formal}. Formal parameters are "name:type|taken", bit i of the hexadecimal number for
// tensors of element type i, and attributes "name:type" (a number of AttributeProto.AttributeType), "name:type!" where it must
// be there, or "name:type=default" (integers), apart by spaces.
#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace {

using onnx::OpSchema;

// Bit i: tensors of element type i are taken.
std::string taken_by(const OpSchema::FormalParameter& parameter) {
  unsigned long long bits = 0;
  for (int type = 1; type < 64 && onnx::TensorProto::DataType_IsValid(type); ++type) {
    onnx::TypeProto tensor;
    tensor.mutable_tensor_type()->set_elem_type(type);
    if (parameter.GetTypes().contains(onnx::Utils::DataTypeUtils::ToType(tensor))) bits |= 1ULL << type;
  }
  char text[20];
  std::snprintf(text, sizeof text, "|%llx", bits);
  return text;
}

std::string parameters_of(const std::vector<OpSchema::FormalParameter>& parameters) {
  std::string text;
  for (const OpSchema::FormalParameter& parameter : parameters)
    text += (text.empty() ? "" : " ") + parameter.GetName() + ":" + parameter.GetTypeStr() + taken_by(parameter);
  return text;
}

// Bit i: formal parameter i may not be left out.
unsigned long long required_of(const std::vector<OpSchema::FormalParameter>& parameters) {
  unsigned long long bits = 0;
  for (size_t i = 0; i < parameters.size() && i < 64; ++i)
    if (parameters[i].GetOption() == OpSchema::Single) bits |= 1ULL << i;
  return bits;
}

bool is_variadic(const std::vector<OpSchema::FormalParameter>& parameters) {
  return !parameters.empty() && parameters.back().GetOption() == OpSchema::Variadic;
}

std::string attributes_of(const OpSchema& schema) {
  std::string text;
  for (const auto& [name, attribute] : schema.attributes()) {
    text += (text.empty() ? "" : " ") + name + ":" + std::to_string(static_cast<int>(attribute.type)) +
            (attribute.required ? "!" : "");
    if (attribute.type == onnx::AttributeProto::INT && attribute.default_value.has_i())
      text += "=" + std::to_string(attribute.default_value.i());
  }
  return text;
}

const char* word(bool value) { return value ? "true" : "false"; }

}  // namespace

int main() {
  std::vector<OpSchema> schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  std::sort(schemas.begin(), schemas.end(), [](const OpSchema& a, const OpSchema& b) {
    return std::tuple(a.domain(), a.Name(), a.since_version()) < std::tuple(b.domain(), b.Name(), b.since_version());
  });
  std::printf("constexpr int64_t kNewestOpset = %d;\n\nconstexpr Row kRows[] = {\n",
              onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second);
  for (const OpSchema& s : schemas) {
    std::printf("    {\"%s\", \"%s\", %d, {%d, %d, %s, %llu, \"%s\"}, {%d, %d, %s, %llu, \"%s\"}, %s, %s, \"%s\"},\n",
                s.domain().c_str(), s.Name().c_str(), s.since_version(), s.min_input(), s.max_input(),
                word(is_variadic(s.inputs())), required_of(s.inputs()), parameters_of(s.inputs()).c_str(),
                s.min_output(), s.max_output(), word(is_variadic(s.outputs())), required_of(s.outputs()),
                parameters_of(s.outputs()).c_str(), word(s.deprecated()),
                word(s.HasFunction() || s.HasContextDependentFunction()), attributes_of(s).c_str());
  }
  std::printf("};\n");
}
