// Which operators an opset has, as the official ONNX library says (cmake/schema_table.cc makes a table of it).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/ir/data/types.h"

namespace thaw::ir {

struct OperatorSchema {
  int since_version = 0;
  int min_inputs = 0, max_inputs = 0;  // INT_MAX: any number
  int min_outputs = 0, max_outputs = 0;
  bool deprecated = false;
  bool composed = false;                // ONNX defines it by a function body of other operators
  std::vector<std::string> inputs;      // names of the formal ones
  std::vector<std::string> attributes;  // names
  std::vector<std::pair<std::string, int64_t>> integer_defaults;  // of attributes that may be left out

  bool has_input(std::string_view name) const { return std::ranges::find(inputs, name) != inputs.end(); }
  bool has_attribute(std::string_view name) const { return std::ranges::find(attributes, name) != attributes.end(); }
};

// The operator as of an opset version of its domain ("" is ai.onnx); nullopt when that opset does not have it.
std::optional<OperatorSchema> find_schema(std::string_view domain, std::string_view op_type, int64_t opset);

// How many operands and results a node may have, which attributes it must have, and of what type each is.
struct Arity {
  struct Count {
    int least = 0, most = 0;  // INT_MAX: any number
    uint64_t required = 0;    // bit i: number i may not be left out by an empty name
    bool requires_number(size_t i) const { return i < 64 && (required >> i & 1) != 0; }
  };
  Count inputs, outputs;
  struct Attribute {
    std::string_view name;  // of static storage
    int type = 0;           // AttributeProto.AttributeType
    bool is_required = false;
  };
  std::vector<Attribute> attributes = {};
};

// That of the operator as of an opset. Of an opset before the operator's first or after the newest that is known, what
// it needs at least: runtimes take some operators before ONNX has them. nullopt for an operator that no opset has.
std::optional<Arity> find_arity(std::string_view domain, std::string_view op_type, int64_t opset);

// The first opset that has the operator; nullopt for one that none has.
std::optional<int64_t> first_opset(std::string_view domain, std::string_view op_type);

// What the schema says of each operand's type: a type parameter ("T"), or a type ("tensor(int64)").
struct OperandTypes {
  std::vector<std::string> inputs, outputs;
  // The last of them stands for all that follow.
  bool variadic_inputs = false, variadic_outputs = false;
  // Those that may stand for tensors of float16 and of bfloat16; a type is among them if it is one.
  std::set<std::string, std::less<>> of_float16, of_bfloat16;
  // For each of ONNX's own, bit i: it may stand for tensors of element type i.
  std::map<std::string, uint64_t, std::less<>> taken;

  // Whether a tensor of that element type may stand there; so it may where nothing is said of the type.
  bool takes(std::string_view type, DataType element) const {
    const auto found = taken.find(type);
    const int bit = static_cast<int>(element);
    return found == taken.end() || (bit >= 0 && bit < 64 && (found->second >> bit & 1) != 0);
  }

  // Of operand i; empty where the operator has none of that number.
  std::string_view input(size_t i) const { return at(inputs, variadic_inputs, i); }
  std::string_view output(size_t i) const { return at(outputs, variadic_outputs, i); }

 private:
  static std::string_view at(const std::vector<std::string>& list, bool variadic, size_t i) {
    if (i < list.size()) return list[i];
    return variadic && !list.empty() ? std::string_view(list.back()) : std::string_view();
  }
};

// Those of the operator as of an opset version; nullopt when that opset does not have it.
std::optional<OperandTypes> find_operand_types(std::string_view domain, std::string_view op_type, int64_t opset);

// The newest opset of ai.onnx that the library knows.
int64_t newest_opset();

}  // namespace thaw::ir
