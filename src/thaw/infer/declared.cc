// Facts from what a file declares: the types of inputs, of values that no rule reached, and constants.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/engine.h"

namespace thaw::infer {

using dim::Dim;
using ops::Fact;
using ops::Shape;

namespace {

// Texts that exporters write where they mean "not known": naming no size, they must not make sizes equal.
bool names_nothing(std::string_view param) {
  if (param.empty()) return true;
  if (param == "None" || param == "none" || param == "?" || param == "-1") return true;
  return std::none_of(param.begin(), param.end(),
                      [](unsigned char c) { return ascii::is_letter(c) || c == '_' || c >= 0x80; });
}

bool is_plain_name(std::string_view param) {
  return std::all_of(param.begin(), param.end(),
                     [](unsigned char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '.' || c == ':'; });
}

// Whether some dim of the model's inputs is declared by exactly this name.
bool is_declared_name(const ir::Model& model, std::string_view name) {
  for (const ir::Value* input : model.graph->inputs()) {
    if (!input->type.shape) continue;
    for (const ir::DeclaredDim& d : *input->type.shape)
      if (d.param == name) return true;
  }
  return false;
}

Dim declared_dim(const ir::Model& model, const ir::Value& input, size_t axis, dim::Scope& scope) {
  const ir::DeclaredDim& declared = (*input.type.shape)[axis];
  // A negative or zero declared size means "any" in the field; check/ reports it. A list of axes, pads or sizes may be
  // empty.
  bool is_list = input.type.shape->size() == 1 && ir::is_integer(input.type.elem_type);
  if (declared.value && (*declared.value > 0 || (is_list && *declared.value == 0))) return *declared.value;
  if (names_nothing(declared.param)) return scope.symbol(fmt::format("{}_dim{}", input.name(), axis));
  if (is_plain_name(declared.param)) return scope.symbol(declared.param);
  auto known = [&](std::string_view name) { return is_declared_name(model, name); };
  if (auto expression = dim::try_parse(declared.param, scope, known)) return *expression;
  return scope.symbol(declared.param);
}

// The parts of a type that hold no input's sizes.
Fact fact_without_shape(const ir::Type& type, dim::Scope& scope) {
  Fact fact;
  fact.kind = ops::kind_of(type.kind);
  fact.dtype = type.elem_type;
  if (type.element) fact.element = std::make_shared<const Fact>(declared_inner_fact(*type.element, scope));
  return fact;
}

}  // namespace

Fact declared_input_fact(const ir::Model& model, const ir::Value& input, dim::Scope& scope) {
  Fact fact = fact_without_shape(input.type, scope);
  if (!input.type.shape || input.type.shape->size() > ops::kMaxRank) return fact;
  Shape shape;
  shape.reserve(input.type.shape->size());
  for (size_t axis = 0; axis < input.type.shape->size(); ++axis)
    shape.push_back(declared_dim(model, input, axis, scope));
  fact.shape = std::move(shape);
  return fact;
}

Fact declared_inner_fact(const ir::Type& type, dim::Scope& scope) {
  Fact fact = fact_without_shape(type, scope);
  if (!type.shape || type.shape->size() > ops::kMaxRank) return fact;
  Shape shape;
  for (const ir::DeclaredDim& declared : *type.shape) {
    if (declared.value && *declared.value > 0) {
      shape.push_back(*declared.value);
    } else if (!names_nothing(declared.param)) {
      auto known = scope.find(declared.param);
      shape.push_back(known ? *known : scope.symbol(declared.param, dim::SymbolKind::kDataDependent));
    } else {
      shape.push_back(Dim());
    }
  }
  fact.shape = std::move(shape);
  return fact;
}

Fact constant_fact(const ir::Tensor& tensor) {
  Fact fact = Fact::tensor(tensor.data_type, std::nullopt);
  if (tensor.dims.size() <= ops::kMaxRank) fact.shape.emplace(tensor.dims.begin(), tensor.dims.end());
  return fact;
}

Fact initializer_fact(const ir::Model& model, const ir::Value& value, dim::Scope& scope) {
  Fact fact = constant_fact(*value.initializer());
  if (value.fixed_constant() || !fact.shape || !value.type.shape || value.type.shape->size() != fact.shape->size())
    return fact;
  for (size_t axis = 0; axis < fact.shape->size(); ++axis)
    if (!(*value.type.shape)[axis].value) (*fact.shape)[axis] = declared_dim(model, value, axis, scope);
  return fact;
}

}  // namespace thaw::infer
