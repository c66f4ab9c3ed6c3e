// What an operator does beside its operands, as bytes that are equal only where it does the same.
#include <algorithm>
#include <map>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "thaw/ir/graph/key_parts.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {
namespace {

using ir::append_list, ir::append_raw, ir::append_text;

// Operators of ai.onnx whose later versions take more types and mean the same, from an opset on.
const std::map<std::string_view, int64_t> kSameSince = {{"Abs", 6},
                                                        {"Acos", 7},
                                                        {"Acosh", 9},
                                                        {"Add", 7},
                                                        {"And", 7},
                                                        {"Asin", 7},
                                                        {"Asinh", 9},
                                                        {"Atan", 7},
                                                        {"Atanh", 9},
                                                        {"Ceil", 6},
                                                        {"Concat", 4},
                                                        {"Conv", 1},
                                                        {"Cos", 7},
                                                        {"Cosh", 9},
                                                        {"Div", 7},
                                                        {"Elu", 6},
                                                        {"Equal", 7},
                                                        {"Erf", 9},
                                                        {"Exp", 6},
                                                        {"Expand", 8},
                                                        {"Floor", 6},
                                                        {"Gather", 11},
                                                        {"GatherElements", 11},
                                                        {"GatherND", 12},
                                                        {"Gemm", 11},
                                                        {"GlobalAveragePool", 1},
                                                        {"GlobalMaxPool", 1},
                                                        {"Greater", 7},
                                                        {"GreaterOrEqual", 12},
                                                        {"HardSigmoid", 6},
                                                        {"Identity", 1},
                                                        {"InstanceNormalization", 6},
                                                        {"LeakyRelu", 6},
                                                        {"Less", 7},
                                                        {"LessOrEqual", 12},
                                                        {"Log", 6},
                                                        {"MatMul", 1},
                                                        {"Max", 8},
                                                        {"Min", 8},
                                                        {"Mul", 7},
                                                        {"Neg", 6},
                                                        {"NonZero", 9},
                                                        {"Not", 1},
                                                        {"Or", 7},
                                                        {"PRelu", 9},
                                                        {"Pow", 12},
                                                        {"Range", 11},
                                                        {"Reciprocal", 6},
                                                        {"Relu", 6},
                                                        {"Selu", 6},
                                                        {"Sigmoid", 6},
                                                        {"Sign", 9},
                                                        {"Sin", 7},
                                                        {"Sinh", 9},
                                                        {"Softplus", 1},
                                                        {"Softsign", 1},
                                                        {"Sqrt", 6},
                                                        {"Sub", 7},
                                                        {"Sum", 8},
                                                        {"Tan", 7},
                                                        {"Tanh", 6},
                                                        {"Tile", 6},
                                                        {"Where", 9},
                                                        {"Xor", 7}};

// Defaults of floating-point attributes, which the table of schemas does not have.
struct FloatDefault {
  std::string_view op, attribute;
  float value;
};
const FloatDefault kFloatDefaults[] = {{"InstanceNormalization", "epsilon", 1e-5F},
                                       {"LeakyRelu", "alpha", 0.01F},
                                       {"Elu", "alpha", 1.0F},
                                       {"HardSigmoid", "alpha", 0.2F},
                                       {"HardSigmoid", "beta", 0.5F}};

// Of bytes, their hash.
bool append_tensor(std::string& key, const ir::Tensor& tensor) {
  append_raw(key, tensor.data_type);
  append_list(key, tensor.dims);
  if (tensor.data_type == ir::DataType::kString) {
    for (const std::string& text : tensor.to_strings()) append_text(key, text);
    return true;
  }
  const auto bytes = tensor.bytes();
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  append_raw(key, hash.high64);
  append_raw(key, hash.low64);
  return true;
}

// False where the payload is nothing that is compared. Whoever reads the node compares what is in a graph.
bool append_payload(std::string& key, const ir::Attribute& attribute) {
  if (!attribute.as<std::shared_ptr<ir::Graph>>()) return ir::append_payload(key, attribute, append_tensor);
  append_raw(key, attribute.value.index());
  return true;
}

// Everything before the attributes.
std::string beginning(std::string_view domain, std::string_view op, int64_t version) {
  if (domain.empty())
    if (const auto same = kSameSince.find(op); same != kSameSince.end() && version >= same->second)
      version = same->second;
  std::string key;
  append_text(key, domain);
  append_raw(key, version);
  return key;
}

}  // namespace

std::string settings_of_plain(const std::string& op) {
  std::string key = beginning("", op, ir::newest_opset());
  append_raw(key, 0);  // which output
  return key;
}

std::optional<std::string> settings_of(const NodeToRead& read) {
  const ir::Node& node = read.node;
  const ops::Operator* op = ops::registry().find(node);
  if (!op || !node.overload().empty()) return std::nullopt;
  if (!op->deterministic) return std::nullopt;
  const auto schema = ir::find_schema(node.domain(), node.op_type(), read.opset);
  std::string key = beginning(node.domain(), node.op_type(), schema ? schema->since_version : read.opset);
  std::map<std::string, std::string> attributes;
  if (schema)
    for (const auto& [name, value] : schema->integer_defaults) {
      std::string& payload = attributes[name];
      append_raw(payload, ir::Attribute::Payload(value).index());
      append_raw(payload, value);
    }
  if (node.domain().empty())
    for (const FloatDefault& one : kFloatDefaults)
      if (node.op_type() == one.op) {
        std::string& payload = attributes[std::string(one.attribute)];
        append_raw(payload, ir::Attribute::Payload(one.value).index());
        append_raw(payload, one.value);
      }
  for (const ir::Attribute& attribute : node.attributes()) {
    if (!attribute.ref_attr_name.empty()) return std::nullopt;
    std::string payload;
    if (!append_payload(payload, attribute)) return std::nullopt;
    attributes[attribute.name] = std::move(payload);
  }
  for (const auto& [name, payload] : attributes) {
    append_text(key, name);
    append_text(key, payload);
  }
  return key;
}

}  // namespace thaw::proving
