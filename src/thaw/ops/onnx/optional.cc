#include "thaw/ops/onnx/sequence.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

namespace {

// A fact of a type that an attribute declares: its constant sizes, no names.
Fact fact_of_type(const ir::Type& type) {
  Fact fact;
  fact.kind = kind_of(type.kind);
  fact.dtype = type.elem_type;
  if (type.shape) {
    Shape shape;
    for (const ir::DeclaredDim& d : *type.shape)
      shape.push_back(d.value && *d.value >= 0 ? dim::Dim(*d.value) : dim::Dim());
    fact.shape = std::move(shape);
  }
  if (type.element) fact.element = std::make_shared<const Fact>(fact_of_type(*type.element));
  return fact;
}

void optional(Context& ctx) {
  Fact fact;
  fact.kind = Fact::Kind::kOptional;
  if (ctx.has_input(0)) {
    ctx.elements(0);
    const Fact& item = ctx.input(0);
    fact.element = std::make_shared<const Fact>(item);
    fact.items = std::make_shared<const std::vector<Fact>>(1, item);
  } else {
    const ir::Attribute* type = ctx.attribute("type");
    if (type && type->as<ir::Type>()) fact.element = std::make_shared<const Fact>(fact_of_type(*type->as<ir::Type>()));
    fact.items = std::make_shared<const std::vector<Fact>>();
  }
  ctx.set_output(0, std::move(fact));
}

void optional_has_element(Context& ctx) {
  const Fact& value = ctx.input(0);
  ctx.set_tensor(0, ir::DataType::kBool, Shape{});
  Element answer;
  if (!ctx.has_input(0))
    answer = Element::integer(0);
  else if (value.kind == Fact::Kind::kTensor || value.kind == Fact::Kind::kSequence)
    answer = Element::integer(1);
  else if (value.kind == Fact::Kind::kOptional && value.items)
    answer = Element::integer(value.items->empty() ? 0 : 1);
  ctx.set_elements(0, {answer});
}

void optional_get_element(Context& ctx) {
  const Fact& value = ctx.input(0);
  if (value.kind == Fact::Kind::kTensor || value.kind == Fact::Kind::kSequence) return same_as_input(ctx, 0, 0, true);
  if (value.kind != Fact::Kind::kOptional) return;
  if (value.items && value.items->empty()) ctx.invalid("takes the element of an empty optional");
  if (value.items && !value.items->empty())
    ctx.set_output(0, value.items->front());
  else if (value.element)
    ctx.set_output(0, *value.element);
}

void batch_optional(BatchContext& n) { n.keep_on(Form::kLeading); }

}  // namespace

void add_optional_ops(Registry& r) {
  r.add({.name = "Optional",
         .shape = optional,
         .op_class = OpClass::kMovement,
         .axes = no_axes(kSequences),
         .batch = batch_with(batch_optional)});
  r.add({.name = "OptionalGetElement",
         .shape = optional_get_element,
         .op_class = OpClass::kMovement,
         .axes = no_axes(kSequences),
         .batch = batch_with(batch_optional)});
  r.add({.name = "OptionalHasElement",
         .shape = optional_has_element,
         .operands = {Role::kShapeOnly},
         .axes = no_axes(kSequences),
         .batch = batch_with(batch_length)});
}

}  // namespace thaw::ops
