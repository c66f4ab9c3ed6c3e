// Operators that make a tensor from sizes or from nothing: Constant, ConstantOfShape, Range, Shape, Size.
#include <algorithm>
#include <cmath>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

template <typename T>
void list_constant(Context& ctx, ir::DataType dtype, const std::vector<T>& values) {
  ctx.set_tensor(0, dtype, Shape{dim::Dim(static_cast<int64_t>(values.size()))});
  if constexpr (!std::is_same_v<T, std::string>) {
    if (!is_followed(dtype, static_cast<int64_t>(values.size()))) return;
    Elements elements;
    for (T v : values) {
      if constexpr (std::is_floating_point_v<T>)
        elements.push_back(Element::real(v));
      else
        elements.push_back(Element::integer(v));
    }
    ctx.set_elements(0, std::move(elements));
  }
}

void constant(Context& ctx) {
  using ir::DataType;
  if (const ir::Tensor* tensor = ctx.attr_tensor("value")) {
    ctx.set_tensor(0, tensor->data_type, Shape(tensor->dims.begin(), tensor->dims.end()));
    if (const ElementsPtr elements = small_elements(*tensor)) ctx.set_elements(0, *elements);
    return;
  }
  if (auto value = ctx.attr_int("value_int")) {
    ctx.set_tensor(0, DataType::kInt64, Shape{});
    return ctx.set_elements(0, {Element::integer(*value)});
  }
  if (auto values = ctx.attr_ints("value_ints")) return list_constant(ctx, DataType::kInt64, *values);
  if (const ir::Attribute* a = ctx.attribute("value_float"); a && a->as<float>()) {
    ctx.set_tensor(0, DataType::kFloat, Shape{});
    return ctx.set_elements(0, {Element::real(*a->as<float>())});
  }
  if (const ir::Attribute* a = ctx.attribute("value_floats"); a && a->as<std::vector<float>>())
    return list_constant(ctx, DataType::kFloat, *a->as<std::vector<float>>());
  if (ctx.has_attribute("value_string")) return ctx.set_tensor(0, DataType::kString, Shape{});
  if (const ir::Attribute* a = ctx.attribute("value_strings"); a && a->as<std::vector<std::string>>())
    return list_constant(ctx, DataType::kString, *a->as<std::vector<std::string>>());
  if (const ir::Attribute* a = ctx.attribute("sparse_value"); a && a->as<std::shared_ptr<ir::SparseTensor>>()) {
    const auto& sparse = *a->as<std::shared_ptr<ir::SparseTensor>>();
    if (sparse) ctx.set_tensor(0, sparse->values.data_type, Shape(sparse->dims.begin(), sparse->dims.end()));
  }
}

void constant_of_shape(Context& ctx) {
  const ir::Tensor* value = ctx.attr_tensor("value");
  ir::DataType dtype = value ? value->data_type : ir::DataType::kFloat;
  auto shape = ctx.dims_from(0);
  if (!shape) return unknown_tensor(ctx, 0, dtype);
  for (Dim d : *shape) ctx.require_at_most(0, d, "a ConstantOfShape's sizes");
  auto constant = constant_shape(shape);
  ctx.set_tensor(0, dtype, std::move(shape));
  auto count = constant ? small_count(*constant) : std::nullopt;
  if (!count || !is_followed(dtype, *count)) return;
  Element fill = Element::integer(0);
  if (value) {
    const ElementsPtr elements = small_elements(*value);
    fill = elements && elements->size() == 1 ? elements->front() : Element();
  }
  ctx.set_elements(0, Elements(static_cast<size_t>(*count), fill));
}

// A ratio whose division floating point does exactly: over a power of two.
bool is_exact_in_floats(const Element& e) {
  if (!e.is_exact()) return false;
  auto den = e.den().constant();
  return den && *den > 0 && (*den & (*den - 1)) == 0;
}

// ceil((limit - start) / delta), at least 0; unknown when the elements do not tell.
Dim range_length(const Element& start, const Element& limit, const Element& delta, bool floating) {
  if (floating) {
    auto a = start.as_double(), b = limit.as_double(), d = delta.as_double();
    if (a && b && d && *d != 0) {
      // Runtimes subtract and divide in float or in double: the length counts only where both agree.
      float single = std::ceil((static_cast<float>(*b) - static_cast<float>(*a)) / static_cast<float>(*d));
      double wide = std::ceil((*b - *a) / *d);
      if (!(std::abs(wide) < 1e9) || static_cast<double>(single) != wide) return {};
      return std::max<int64_t>(static_cast<int64_t>(wide), 0);
    }
    if (!is_exact_in_floats(start) || !is_exact_in_floats(limit) || !is_exact_in_floats(delta)) return {};
    if (auto step = delta.as_int(); !step || (*step != 1 && *step != -1)) return {};
  }
  Element span = limit - start;
  if (!span.is_exact() || !delta.is_exact() || delta.num().is_constant(0)) return {};
  return dim::max(dim::ceil_div(span.num() * delta.den(), span.den() * delta.num()), 0);
}

void range(Context& ctx) {
  ir::DataType dtype = ctx.input(0).dtype;
  if (dtype == ir::DataType::kUndefined) dtype = ctx.input(1).dtype;
  Element operand[3];
  for (int i = 0; i < 3; ++i) {
    const Elements* elements = ctx.elements(i);
    if (elements && elements->size() == 1) operand[i] = elements->front();
  }
  if (operand[2].as_int() == 0) ctx.invalid("a Range's delta is 0");
  Dim length = range_length(operand[0], operand[1], operand[2], ir::is_floating(dtype));
  if (length.is_unknown()) length = ctx.data_dependent(0, 0);
  ctx.set_tensor(0, dtype, Shape{length});
  auto count = length.constant();
  if (!count || !is_followed(dtype, *count) || !operand[0].is_exact() || !operand[2].is_exact()) return;
  Elements elements;
  for (int64_t i = 0; i < *count; ++i) elements.push_back(operand[0] + Element::integer(i) * operand[2]);
  ctx.set_elements(0, std::move(elements));
}

void needs_of_range(Context& ctx) {
  if (const auto delta = ctx.number(2)) return;  // the shape rule has looked at it
  if (ir::is_integer(ctx.input(2).dtype)) return need_nonzero(ctx, 2, "a Range's delta that is not 0");
  ctx.leave_open("a Range's delta that is not 0", 2);
}

// From start on, by steps that are known.
void range_of_range(Context& ctx) {
  const auto whole = [&](int i) {
    const Elements* elements = ctx.elements(i);
    return elements && elements->size() == 1 ? elements->front().as_dim() : Dim();
  };
  const auto delta = whole(2).constant();
  if (!delta || *delta == 0 || ctx.output(0).rank() != 1 || !ir::is_integer(ctx.output(0).dtype)) return;
  const Dim start = whole(0), limit = whole(1);
  const Dim last = *delta == 1 && limit.is_known() ? limit - 1 : start + (ctx.output(0).dim(0) - 1) * *delta;
  ctx.set_range(0, *delta > 0 ? ValueRange{start, last, true} : ValueRange{last, start, true});
}

void range_of_fill(Context& ctx) {
  const ir::Tensor* value = ctx.attr_tensor("value");
  if (!value || !ir::is_integer(value->data_type)) return;
  if (const auto range = range_of_constant(*value)) ctx.set_range(0, *range);
}

void shape(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return ctx.set_tensor(0, ir::DataType::kInt64, unknown_shape(1));
  int64_t rank = data.rank();
  auto position = [&](std::string_view name, int64_t otherwise) {
    int64_t at = ctx.opset() >= 15 ? ctx.attr_int(name, otherwise) : otherwise;
    if (at < 0) at += rank;
    return std::clamp<int64_t>(at, 0, rank);
  };
  int64_t start = position("start", 0), end = position("end", rank);
  Elements elements;
  for (int64_t i = start; i < end; ++i) elements.push_back(Element::integer(data.dim(static_cast<int>(i))));
  ctx.set_tensor(0, ir::DataType::kInt64, Shape{static_cast<int64_t>(elements.size())});
  ctx.set_elements(0, std::move(elements));
}

void size(Context& ctx) {
  ctx.set_tensor(0, ir::DataType::kInt64, Shape{});
  ctx.set_elements(0, {Element::integer(ctx.input(0).num_elements())});
}

// The shape of one sample: int64 [rank].
ir::Value* sample_shape(BatchContext& n, int i) {
  if (!n.is_merged(i)) return n.slice(n.shape(n.leading(i)), 1);
  if (n.rank(i) == 1) return n.list({1});
  return n.concat({n.list({1}), n.slice(n.shape(n.merged(i)), 1)}, 0);
}

void batch_shape(BatchContext& n) {
  const int64_t rank = n.rank(0);
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    int64_t at = n.attr_int(name, otherwise);
    if (at < 0) at += rank;
    return std::clamp<int64_t>(at, 0, rank);
  };
  const int64_t begin = bound("start", 0), end = bound("end", rank);
  if (rank == 0) return n.become_plain(0, n.slice(n.list({0}), 0, 0));
  ir::Value* shape = sample_shape(n, 0);
  n.become_plain(0, begin == 0 && end == rank ? shape : n.slice(shape, begin, end));
}

void batch_size(BatchContext& n) {
  ir::Value* all = n.emit("Size", {n.leading(0)});
  n.become_plain(0, n.emit("Div", {all, n.squeeze(n.batch_size(), {0})}));
}

constexpr std::string_view kTellsShape = "it tells a shape: no axis of its operand is an axis of its output";

}  // namespace

void add_generator_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Constant",
         .shape = constant,
         .op_class = OpClass::kGenerator,
         .needs = needs_nothing,
         .axes = no_axes("it has no operand"),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "ConstantOfShape",
         .shape = constant_of_shape,
         .op_class = OpClass::kGenerator,
         .needs = needs_sizes,
         .range = range_of_fill,
         .operands = {kShape},
         .axes = no_axes(kSizedByData),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Range",
         .shape = range,
         .op_class = OpClass::kGenerator,
         .needs = needs_of_range,
         .range = range_of_range,
         .operands = {kSize},
         .axes = no_axes(kSizedByData),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Shape",
         .shape = shape,
         .op_class = OpClass::kGenerator,
         .operands = {kShapeOnly},
         .attributes = {{.name = "start", .role = kAxes, .otherwise = 0}, {.name = "end", .role = kAxes}},
         .axes = no_axes(kTellsShape),
         .batch = batch_with(batch_shape),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Size",
         .shape = size,
         .op_class = OpClass::kGenerator,
         .operands = {kShapeOnly},
         .axes = no_axes(kTellsShape),
         .batch = batch_with(batch_size),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
