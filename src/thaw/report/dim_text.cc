#include "thaw/report/dim_text.h"

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::report {
namespace {

constexpr int kMostNesting = 16;  // of types inside types; a model that nests deeper gets "…"

std::string element_text(ir::DataType type) {
  return type == ir::DataType::kUndefined ? std::string("?") : std::string(ir::name_of(type));
}

std::string nested_text(const ops::Fact* fact, int depth) {
  if (fact == nullptr) return "?";
  if (depth > kMostNesting) return "…";
  switch (fact->kind) {
    case ops::Fact::Kind::kUnknown:
      return "?";
    case ops::Fact::Kind::kTensor:
      return fmt::format("tensor({})", element_text(fact->dtype));
    case ops::Fact::Kind::kSparseTensor:
      return fmt::format("sparse_tensor({})", element_text(fact->dtype));
    case ops::Fact::Kind::kSequence:
      return fmt::format("sequence({})", nested_text(fact->element.get(), depth + 1));
    case ops::Fact::Kind::kOptional:
      return fmt::format("optional({})", nested_text(fact->element.get(), depth + 1));
    case ops::Fact::Kind::kMap:
      return "map";
    case ops::Fact::Kind::kOpaque:
      return "opaque";
  }
  return "?";
}

std::string nested_text(const ir::Type* type, int depth) {
  if (type == nullptr) return "?";
  if (depth > kMostNesting) return "…";
  switch (type->kind) {
    case ir::Type::Kind::kNone:
      return "?";
    case ir::Type::Kind::kTensor:
      return fmt::format("tensor({})", element_text(type->elem_type));
    case ir::Type::Kind::kSparseTensor:
      return fmt::format("sparse_tensor({})", element_text(type->elem_type));
    case ir::Type::Kind::kSequence:
      return fmt::format("sequence({})", nested_text(type->element.get(), depth + 1));
    case ir::Type::Kind::kOptional:
      return fmt::format("optional({})", nested_text(type->element.get(), depth + 1));
    case ir::Type::Kind::kMap:
      return fmt::format("map({}, {})", element_text(type->elem_type), nested_text(type->element.get(), depth + 1));
    case ir::Type::Kind::kOpaque:
      return "opaque";
  }
  return "?";
}

}  // namespace

const DimText::Entry& DimText::entry(dim::Dim dim) {
  const auto [it, fresh] = entries_.try_emplace(dim.expr());
  if (fresh) it->second = {dim::to_string(dim), dim::is_data_dependent(dim)};
  return it->second;
}

const std::string& DimText::show(dim::Dim dim) {
  if (dim.is_symbolic()) return entry(dim).text;
  return constant_ = dim.is_unknown() ? "?" : std::to_string(*dim.constant());
}

std::string DimText::show(const std::optional<ops::Shape>& shape) {
  if (!shape) return "?";
  std::string text = "[";
  for (size_t i = 0; i < shape->size(); ++i) text.append(i == 0 ? "" : ", ").append(show((*shape)[i]));
  return text + "]";
}

std::string DimText::show_known(const std::optional<ops::Shape>& shape) {
  if (!shape) return "?";
  ops::Shape known = *shape;
  for (dim::Dim& dim : known) {
    if (dim.is_symbolic() && entry(dim).data_dependent) dim = dim::Dim();
  }
  return show(std::optional(std::move(known)));
}

void DimText::write(JsonWriter& json, dim::Dim dim) {
  if (dim.is_unknown()) return json.null();
  if (dim.is_constant()) return json.value(*dim.constant());
  const Entry& known = entry(dim);
  if (known.data_dependent) return json.null();
  json.value(known.text);
}

void DimText::write(JsonWriter& json, const std::optional<ops::Shape>& shape) {
  if (!shape) return json.null();
  json.begin_array(JsonWriter::Layout::kLine);
  for (const dim::Dim dim : *shape) write(json, dim);
  json.end_array();
}

std::string type_text(const ops::Fact& fact) {
  if (fact.kind == ops::Fact::Kind::kUnknown) return {};
  if (fact.kind != ops::Fact::Kind::kTensor) return nested_text(&fact, 0);
  return fact.dtype == ir::DataType::kUndefined ? std::string() : std::string(ir::name_of(fact.dtype));
}

std::string type_text(const ir::Type& type) {
  if (type.kind == ir::Type::Kind::kNone) return {};
  if (type.kind != ir::Type::Kind::kTensor) return nested_text(&type, 0);
  return type.elem_type == ir::DataType::kUndefined ? std::string() : std::string(ir::name_of(type.elem_type));
}

}  // namespace thaw::report
