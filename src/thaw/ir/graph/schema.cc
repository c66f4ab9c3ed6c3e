#include "thaw/ir/graph/schema.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>
#include <tuple>

namespace thaw::ir {
namespace {

struct Parameters {
  int least, most;
  bool variadic;
  uint64_t required;        // bit i: formal parameter i may not be left out
  std::string_view formal;  // "name:type|taken" (hexadecimal, bit i: element type i), apart by spaces
};

// An operator as it is since an opset, until its next row.
struct Row {
  std::string_view domain, name;
  int since;
  Parameters inputs, outputs;
  bool deprecated, composed;
  std::string_view attributes;  // "name:7", "name:7!" or "name:2=1", apart by spaces; the number is the type
};

#include "thaw/ir/graph/schema_table.inc"  // kNewestOpset and kRows, by domain, name and version

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// All rows of an operator, oldest first.
std::span<const Row> rows_of(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  const auto [first, last] = std::ranges::equal_range(kRows, std::tuple(domain, op_type), {},
                                                      [](const Row& row) { return std::tuple(row.domain, row.name); });
  return {first, last};
}

const Row* find_row(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Row* found = nullptr;
  for (const Row& row : rows_of(domain, op_type))
    if (row.since <= opset) found = &row;
  return found;
}

void read_types(const Parameters& parameters, std::vector<std::string>& types, OperandTypes& all) {
  for (const std::string_view word : words_of(parameters.formal)) {
    const size_t colon = word.find(':'), bar = std::min(word.find('|'), word.size());
    types.emplace_back(word.substr(colon + 1, bar - colon - 1));
    uint64_t taken = 0;
    if (bar < word.size()) std::from_chars(word.data() + bar + 1, word.data() + word.size(), taken, 16);
    all.taken.emplace(types.back(), taken);
    if (all.takes(types.back(), DataType::kFloat16)) all.of_float16.insert(types.back());
    if (all.takes(types.back(), DataType::kBfloat16)) all.of_bfloat16.insert(types.back());
  }
}

}  // namespace

std::optional<OperatorSchema> find_schema(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Row* row = find_row(domain, op_type, opset);
  if (!row) return std::nullopt;
  OperatorSchema known{.since_version = row->since,
                       .min_inputs = row->inputs.least,
                       .max_inputs = row->inputs.most,
                       .min_outputs = row->outputs.least,
                       .max_outputs = row->outputs.most,
                       .deprecated = row->deprecated,
                       .composed = row->composed,
                       .inputs = {},
                       .attributes = {},
                       .integer_defaults = {}};
  for (const std::string_view word : words_of(row->inputs.formal))
    known.inputs.emplace_back(word.substr(0, word.find(':')));
  for (const std::string_view word : words_of(row->attributes)) {
    const size_t equals = std::min(word.find('='), word.size());
    known.attributes.emplace_back(word.substr(0, word.find(':')));
    int64_t value = 0;
    if (equals < word.size() &&
        std::from_chars(word.data() + equals + 1, word.data() + word.size(), value).ec == std::errc())
      known.integer_defaults.emplace_back(known.attributes.back(), value);
  }
  return known;
}

std::optional<Arity> find_arity(std::string_view domain, std::string_view op_type, int64_t opset) {
  const std::span<const Row> rows = rows_of(domain, op_type);
  if (rows.empty()) return std::nullopt;
  const Row* row = find_row(domain, op_type, opset);
  const bool is_known = row && (!rows.front().domain.empty() || opset <= kNewestOpset);
  if (!row) row = &rows.front();
  const auto count_of = [&](const Parameters& parameters) {
    return Arity::Count{.least = parameters.least,
                        .most = is_known ? parameters.most : std::numeric_limits<int>::max(),
                        .required = parameters.required};
  };
  Arity arity{.inputs = count_of(row->inputs), .outputs = count_of(row->outputs)};
  if (!is_known) return arity;
  for (const std::string_view word : words_of(row->attributes)) {
    const size_t colon = word.find(':');
    Arity::Attribute& one = arity.attributes.emplace_back(
        Arity::Attribute{.name = word.substr(0, colon), .is_required = word.ends_with('!')});
    std::from_chars(word.data() + colon + 1, word.data() + word.size(), one.type);
  }
  return arity;
}

std::optional<int64_t> first_opset(std::string_view domain, std::string_view op_type) {
  const std::span<const Row> rows = rows_of(domain, op_type);
  if (rows.empty()) return std::nullopt;
  return rows.front().since;
}

std::optional<OperandTypes> find_operand_types(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Row* row = find_row(domain, op_type, opset);
  if (!row) return std::nullopt;
  OperandTypes types;
  read_types(row->inputs, types.inputs, types);
  read_types(row->outputs, types.outputs, types);
  types.variadic_inputs = row->inputs.variadic;
  types.variadic_outputs = row->outputs.variadic;
  return types;
}

int64_t newest_opset() { return kNewestOpset; }

}  // namespace thaw::ir
