#include "thaw/frozen/source.h"

#include <algorithm>
#include <optional>

#include "thaw/core/error.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/product_groups.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {

namespace {

constexpr int kMaxSteps = 20000;
constexpr int64_t kMaxShapeElements = 4096;  // a list of split lengths may be long

// Nothing where it is past the integers.
std::optional<int64_t> sum_of(const std::vector<int64_t>& elements) {
  int64_t sum = 0;
  for (const int64_t element : elements)
    if (__builtin_add_overflow(sum, element, &sum)) return std::nullopt;
  return sum;
}

const ops::Operator* entry(const ir::Node& node) { return ops::registry().find(node); }

bool is_size_operand(const ir::Node& node, int input) { return ops::holds_size(ops::role_of(node, input)); }

FrozenRole role_at(const ir::Node& reader) {
  const ops::Operator* op = entry(reader);
  if (op && op->operands.find(ops::Role::kLengths) >= 0) return FrozenRole::kSplit;
  return op && op->operands.find(ops::Role::kBounds) >= 0 ? FrozenRole::kSlice : FrozenRole::kShape;
}

bool is_contraction(const ir::Node& node) {
  const ops::Operator* op = entry(node);
  return op && op->op_class == ops::OpClass::kContraction;
}

bool tells_shape(const ir::Node& node) { return ops::role_of(node, 0) == ops::Role::kShapeOnly; }

// Whether a small integer value is computed from some tensor's shape.
bool reads_shape(const ir::Value* value) {
  std::vector<const ir::Value*> stack{value};
  for (int steps = 0; !stack.empty() && steps < 64; ++steps) {
    const ir::Value* v = stack.back();
    stack.pop_back();
    const ir::Node* node = v ? v->producer() : nullptr;
    if (!node || v->constant()) continue;
    if (tells_shape(*node)) return true;
    for (const ir::Value* in : node->inputs()) stack.push_back(in);
  }
  return !stack.empty();
}

// A one-element list of a number above 1: an index of 0 or 1 picks, it does not count.
bool says_more_than_one(const ir::Tensor& t) {
  if (t.dims.empty() || t.num_elements() != 1 || !ir::is_integer(t.data_type)) return false;
  try {
    return t.to_int64().front() > 1;
  } catch (const Error&) {
    return false;
  }
}

std::optional<std::vector<int64_t>> constant_dims(const ops::Fact& fact) {
  if (!fact.shape) return std::nullopt;
  std::vector<int64_t> out;
  for (dim::Dim d : *fact.shape) {
    auto v = d.constant();
    if (!v || *v <= 0) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

// The axes of a Reshape's operand and result that are constant and make up each other, counted from either end.
struct FixedGroups {
  std::vector<bool> from, to;
};

// Marks groups from the end `at(0)` on, as long as sizes are equal, or constants of which as many as needed make up the
// others.
template <typename At>
void mark_groups(const ops::Shape& from, const ops::Shape& to, FixedGroups& groups, At at) {
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const dim::Dim a = from[at(i, from.size())], b = to[at(j, to.size())];
    if (!a.is_constant() && dim::same(a, b)) {
      ++i;
      ++j;
      continue;
    }
    const size_t first_i = i, first_j = j;
    int64_t left = 1, right = 1;
    do {
      const bool grow_left = i == first_i || (left < right && j > first_j);
      const ops::Shape& shape = grow_left ? from : to;
      size_t& next = grow_left ? i : j;
      int64_t& product = grow_left ? left : right;
      const auto size = next < shape.size() ? shape[at(next, shape.size())].constant() : std::nullopt;
      if (!size || *size < 1 || __builtin_mul_overflow(product, *size, &product)) return;
      ++next;
    } while (left != right || j == first_j);
    for (size_t k = first_i; k < i; ++k) groups.from[at(k, from.size())] = true;
    for (size_t k = first_j; k < j; ++k) groups.to[at(k, to.size())] = true;
  }
}

FixedGroups fixed_groups(const ops::Shape& from, const ops::Shape& to) {
  FixedGroups groups{std::vector<bool>(from.size()), std::vector<bool>(to.size())};
  mark_groups(from, to, groups, [](size_t k, size_t) { return k; });
  mark_groups(from, to, groups, [](size_t k, size_t count) { return count - 1 - k; });
  return groups;
}

// An axis of 1 that is repeated is the repeats' alone.
bool is_repeated_once(ops::NodeView& view, int axis) {
  const ops::Operator* op = entry(view.node());
  const ops::Fact& data = view.input(0);
  return op && op->operands.find(ops::Role::kRepeats) >= 0 && axis < data.rank() && data.dim(axis).is_constant(1);
}

}  // namespace

std::vector<Source> SourceTracer::of_dim(const ir::Node& reader, const ir::Value& value, int64_t size) {
  return trace({&reader, &value, size, Question::kDim});
}

std::vector<Source> SourceTracer::of_axis(const ir::Node& reader, const ir::Value& value, int axis, int64_t size,
                                          dim::Dim expression) {
  return trace({&reader, &value, size, Question::kDim, axis, expression});
}

std::vector<Source> SourceTracer::of_element(const ir::Node& reader, const ir::Value& value, int64_t number, int at) {
  return trace({&reader, &value, number, Question::kElement, at});
}

std::vector<Source> SourceTracer::of_index(const ir::Node& reader, const ir::Value& value) {
  return trace({&reader, &value, 0, Question::kIndex});
}

std::vector<Source> SourceTracer::trace(Step first) {
  stack_.assign(1, first);
  found_.clear();
  seen_.clear();
  for (int steps = 0; !stack_.empty() && steps < kMaxSteps; ++steps) {
    Step step = stack_.back();
    stack_.pop_back();
    if (const ir::Tensor* constant = step.value->constant()) {
      at_constant(step, *constant);
      continue;
    }
    const ir::Node* producer = step.value->producer();
    if (!producer) continue;
    switch (step.question) {
      case Question::kDim:
        through_dim(step, *producer);
        break;
      case Question::kElement:
      case Question::kAnyElement:
        through_element(step, *producer);
        break;
      case Question::kIndex:
        // Sizes that were read from the graph are right already; what a network computes is data.
        if (!tells_shape(*producer) && !is_contraction(*producer)) through_index(*producer);
        break;
    }
  }
  return std::move(found_);
}

void SourceTracer::through_index(const ir::Node& producer) {
  const ops::Operator* op = entry(producer);
  const bool counts = op && op->op_class == ops::OpClass::kGenerator;
  for (int i = 0; i < static_cast<int>(producer.inputs().size()); ++i) {
    const ops::Role role = ops::role_of(producer, i);
    if (role == ops::Role::kAxes || role == ops::Role::kSteps) continue;
    // Positions are counted out by a Range; other sizes only arrange them.
    if (counts && role == ops::Role::kSize) enqueue(producer, producer.input(i), 0, Question::kAnyElement);
    if (!ops::holds_size(role)) enqueue(producer, producer.input(i), 0, Question::kIndex);
  }
}

void SourceTracer::enqueue(const ir::Node& reader, const ir::Value* value, int64_t number, Question question, int axis,
                           dim::Dim expression) {
  if (!value) return;
  if (seen_.insert({value, number, question, axis}).second)
    stack_.push_back({&reader, value, number, question, axis, expression});
}

void SourceTracer::at_constant(const Step& step, const ir::Tensor& constant) {
  switch (step.question) {
    case Question::kDim:
      if (step.axis >= 0
              ? step.axis >= std::ssize(constant.dims) || constant.dims[static_cast<size_t>(step.axis)] != step.number
              : std::find(constant.dims.begin(), constant.dims.end(), step.number) == constant.dims.end())
        return;
      found_.push_back({step.value, step.reader, FrozenRole::kTable, {}, step.number, step.expression, step.axis});
      return;
    case Question::kIndex:
      if (constant.num_elements() > 1 || constant.dims.size() > 1 || says_more_than_one(constant))
        found_.push_back({step.value, step.reader, FrozenRole::kIndex});
      return;
    case Question::kElement:
    case Question::kAnyElement:
      break;
  }
  if (!ir::is_integer(constant.data_type) || constant.num_elements() > kMaxShapeElements) return;
  try {
    std::vector<int64_t> elements = constant.to_int64();
    const bool sums = sum_of(elements) == step.number;
    bool matches = step.question == Question::kAnyElement
                       ? std::any_of(elements.begin(), elements.end(), [](int64_t v) { return v > 1; })
                       : sums || std::find(elements.begin(), elements.end(), step.number) != elements.end();
    if (matches)
      found_.push_back({step.value, step.reader, role_at(*step.reader), {}, step.number, step.expression, step.axis});
  } catch (const Error&) {
    // The data cannot be read: its values are not known to match.
  }
}

bool SourceTracer::has_constant_dim(const ir::Value* value, int64_t size) const {
  const ops::Fact& fact = result_.fact(value);
  if (!fact.shape) return false;
  return std::any_of(fact.shape->begin(), fact.shape->end(), [&](dim::Dim d) { return d.is_constant(size); });
}

bool SourceTracer::has_source(const ir::Node& reader, const ir::Value& value, int64_t size) {
  const auto [known, fresh] = has_source_.emplace(std::pair{&value, size}, false);
  if (!fresh) return known->second;
  auto stack = std::move(stack_);
  auto found = std::move(found_);
  auto seen = std::move(seen_);
  const bool doubted = std::exchange(in_doubt_, true);
  const bool any = !of_dim(reader, value, size).empty();
  in_doubt_ = doubted;
  stack_ = std::move(stack);
  found_ = std::move(found);
  seen_ = std::move(seen);
  return has_source_[{&value, size}] = any;
}

// A Reshape that splits axes of constant sizes into others, beside axes that may be any: what its target says of these
// was frozen only where the sizes that it splits were. (Heads in what a weight has made are not.) False where the axis
// is none of these.
bool SourceTracer::through_fixed_groups(const Step& step, const ir::Node& producer) {
  const ops::Fact &from = result_.fact(producer.input(0)), &to = result_.fact(step.value);
  if (!from.shape || !to.shape) return false;
  const FixedGroups groups = fixed_groups(*from.shape, *to.shape);
  bool any = false;
  for (size_t k = 0; k < to.shape->size(); ++k) {
    if (!(*to.shape)[k].is_constant(step.number)) continue;
    if (!groups.to[k]) return false;
    any = true;
  }
  if (!any) return false;
  for (size_t k = 0; k < from.shape->size(); ++k) {
    const auto size = groups.from[k] ? (*from.shape)[k].constant() : std::nullopt;
    if (!size || *size <= 1 || !has_source(producer, *producer.input(0), *size)) continue;
    enqueue(producer, producer.input(0), *size, Question::kDim);
    enqueue(producer, producer.input(1), step.number, Question::kElement);
  }
  return true;
}

// Where the operator's entry says which axes of its operands the axis is. False where it does not.
bool SourceTracer::through_axis(const Step& step, const ir::Node& producer) {
  if (step.axis < 0 || !model_) return false;
  const ops::Operator* op = entry(producer);
  const int shape = op && op->op_class == ops::OpClass::kGenerator ? op->operands.find(ops::Role::kShape) : -1;
  if (shape >= 0) {
    enqueue(producer, producer.input(shape), step.number, Question::kElement, step.axis, step.expression);
    return true;
  }
  infer::NodeFacts view(result_, *model_, producer);
  const auto axes = ops::axes_of(view);
  const ops::AxisLink* link = axes ? axes->of_output(step.value->producer_index(), step.axis) : nullptr;
  const bool is_repeated = is_repeated_once(view, step.axis);
  if (!link || (link->kind != ops::AxisKind::kPreserved && link->kind != ops::AxisKind::kNew && !is_repeated))
    return false;
  // What an index that is computed is made of may count in other ways.
  for (const ops::OperandAxis& from : link->inputs)
    if (ops::role_of(producer, from.operand) == ops::Role::kIndex && !producer.input(from.operand)->constant())
      return false;
  for (const ops::OperandAxis& from : link->inputs) {
    const ops::Fact& fact = result_.fact(producer.input(from.operand));
    if (from.axis < fact.rank() && fact.dim(from.axis).is_constant(step.number))
      enqueue(producer, producer.input(from.operand), step.number, Question::kDim, from.axis, step.expression);
  }
  for (int i = 0; i < static_cast<int>(producer.inputs().size()); ++i) {
    const ops::Role role = ops::role_of(producer, i);
    if (!ops::holds_size(role)) continue;
    // The sizes of a result, counted from its last axis.
    const ops::Fact &sizes = result_.fact(producer.input(i)), &out = result_.fact(step.value);
    const auto count = sizes.rank() == 1 ? sizes.dim(0).constant() : std::nullopt;
    const int64_t element = count && out.has_rank() ? step.axis - (out.rank() - *count) : -1;
    const bool is_element = element >= 0 && (role == ops::Role::kShape || role == ops::Role::kRepeats);
    enqueue(producer, producer.input(i), step.number,
            role == ops::Role::kRepeats ? Question::kAnyElement : Question::kElement,
            is_element ? static_cast<int>(element) : -1, step.expression);
  }
  return true;
}

// An axis of a Reshape that is part of an axis, or is put together of several: what a batch counts is in the first that it fits in.
bool SourceTracer::through_groups(const Step& step, const ir::Node& producer) {
  const ops::Operator* op = entry(producer);
  const int shape = op && op->moves_elements() ? op->operands.find(ops::Role::kShape) : -1;
  const auto ids = dim::symbols_of(step.expression);
  if (shape != 1 || step.axis < 0 || ids.size() != 1) return false;
  const auto in = constant_dims(result_.fact(producer.input(0))), out = constant_dims(result_.fact(step.value));
  const auto groups = in && out ? ops::group_by_product(*in, *out) : std::nullopt;
  if (!groups) return false;
  const auto at = static_cast<size_t>(step.axis);
  for (const ops::AxisGroup& g : *groups) {
    if (at < g.out_begin || at >= g.out_end) continue;
    const dim::Dim batch = dim::scope_of(step.expression)->symbol_at(ids.front());
    const auto factor = dim::exact_div(step.expression, batch);
    const auto times = factor ? factor->constant() : std::nullopt;
    if (!times || *times < 1 || step.number % *times != 0 || (*out)[at] != step.number) return false;
    const int64_t samples = step.number / *times;
    for (size_t k = g.in_begin; k < g.in_end; ++k) {
      if ((*in)[k] < 2 || (*in)[k] % samples != 0) continue;
      enqueue(producer, producer.input(0), (*in)[k], Question::kDim, static_cast<int>(k),
              batch * dim::Dim((*in)[k] / samples));
      enqueue(producer, producer.input(shape), step.number, Question::kElement, step.axis, step.expression);
      return true;
    }
  }
  return false;
}

void SourceTracer::through_dim(const Step& step, const ir::Node& producer) {
  if (through_axis(step, producer) || through_groups(step, producer)) return;
  const std::string& op = producer.op_type();
  const bool reshapes = op == "Reshape" || op == "Flatten";
  if (reshapes && producer.input(0) && through_fixed_groups(step, producer)) return;
  for (int i = 0; i < static_cast<int>(producer.inputs().size()); ++i) {
    const ops::Role role = ops::role_of(producer, i);
    if (ops::holds_size(role))
      enqueue(producer, producer.input(i), step.number,
              role == ops::Role::kRepeats ? Question::kAnyElement : Question::kElement);
  }
  const ops::Operator* known = entry(producer);
  for (const ops::AttributeRole& attribute : known ? known->attributes : std::vector<ops::AttributeRole>()) {
    const auto list = producer.attribute_ints(attribute.name);
    if (ops::holds_size(attribute.role) && std::find(list.begin(), list.end(), step.number) != list.end())
      found_.push_back({nullptr, &producer, FrozenRole::kAttribute, std::string(attribute.name)});
  }
  if (op == "Concat") return through_concat(step, producer);
  if (reshapes) return through_reshape(step, producer);
  if (op == "Gather") through_gather(step, producer);
  // What is written at positions.
  const int written = known && producer.inputs().size() > 2 ? known->operands.find(ops::Role::kIndex) : -1;
  if (written > 0 && !reads_shape(producer.input(written)))
    enqueue(producer, producer.input(written), 0, Question::kIndex);
  bool contraction = is_contraction(producer);
  const bool is_of_weight = std::ranges::any_of(producer.inputs(), [&](const ir::Value* in) {
    return in && in->constant() && has_constant_dim(in, step.number);
  });
  if (contraction && in_doubt_ && is_of_weight) return;
  for (size_t i = 0; i < producer.inputs().size(); ++i) {
    const ir::Value* input = producer.inputs()[i];
    if (!input || is_size_operand(producer, static_cast<int>(i))) continue;
    // A weight's sizes are the architecture's, not the example's.
    if (contraction && input->constant()) continue;
    if (has_constant_dim(input, step.number)) enqueue(producer, input, step.number, Question::kDim);
  }
}

// The parts of the axis, whatever their sizes.
void SourceTracer::through_concat(const Step& step, const ir::Node& producer) {
  const ops::Fact& out = result_.fact(step.value);
  int64_t axis = producer.attribute_int("axis", 0);
  if (axis < 0 && out.has_rank()) axis += out.rank();
  for (const ir::Value* part : producer.inputs()) {
    const ops::Fact& fact = result_.fact(part);
    if (axis < 0 || axis >= fact.rank()) continue;
    if (auto size = fact.dim(static_cast<int>(axis)).constant()) enqueue(producer, part, *size, Question::kDim);
    if (has_constant_dim(part, step.number)) enqueue(producer, part, step.number, Question::kDim);
  }
}

// An axis that a Reshape made is asked for in the axes it was made from, and in the target where it splits them.
void SourceTracer::through_reshape(const Step& step, const ir::Node& producer) {
  auto in = constant_dims(result_.fact(producer.input(0))), out = constant_dims(result_.fact(step.value));
  auto groups = in && out ? ops::group_by_product(*in, *out) : std::nullopt;
  if (!groups) {
    if (has_constant_dim(producer.input(0), step.number))
      enqueue(producer, producer.input(0), step.number, Question::kDim);
    return;
  }
  for (const ops::AxisGroup& g : *groups) {
    if (std::find(out->begin() + static_cast<ptrdiff_t>(g.out_begin), out->begin() + static_cast<ptrdiff_t>(g.out_end),
                  step.number) == out->begin() + static_cast<ptrdiff_t>(g.out_end))
      continue;
    for (size_t i = g.in_begin; i < g.in_end; ++i)
      if ((*in)[i] > 1) enqueue(producer, producer.input(0), (*in)[i], Question::kDim);
    for (size_t j = g.out_begin; j < g.out_end && g.out_end - g.out_begin > 1; ++j)
      if ((*out)[j] > 1) enqueue(producer, producer.input(1), (*out)[j], Question::kElement);
  }
}

// A table of as many rows as make up the size with another factor (angles by row, looked up by generated positions),
// and the tables that its positions come from.
void SourceTracer::through_gather(const Step& step, const ir::Node& producer) {
  const ir::Value* indices = producer.input(1);
  const ir::Tensor* table = producer.input(0) ? producer.input(0)->constant() : nullptr;
  if (!table || !indices || indices->constant() || !has_constant_dim(indices, step.number)) return;
  int64_t rows = table->dims.empty() ? 0 : table->dims[0];
  if (rows > 1 && step.number % rows == 0) found_.push_back({producer.input(0), &producer, FrozenRole::kTable});
  enqueue(producer, indices, 0, Question::kIndex);
}

void SourceTracer::through_element(const Step& step, const ir::Node& producer) {
  if (tells_shape(producer)) {
    if (step.question == Question::kElement && has_constant_dim(producer.input(0), step.number))
      enqueue(*step.reader, producer.input(0), step.number, Question::kDim);
    return;
  }
  const ops::Operator* op = entry(producer);
  if (op && op->passes_numbers()) {
    for (int i = 0; i < static_cast<int>(producer.inputs().size()); ++i)
      if (op->operands[i] == ops::Role::kData)
        enqueue(*step.reader, producer.input(i), step.number, step.question, step.axis, step.expression);
    return;
  }
  if (op && op->op_class == ops::OpClass::kGenerator && op->operands.find(ops::Role::kShape) >= 0) return;
  // Arithmetic on constants alone: the number is made from them. Beside a size that was read from the graph, they are
  // factors.
  if (reads_shape(step.value)) return;
  for (const ir::Value* input : producer.inputs()) enqueue(*step.reader, input, step.number, Question::kAnyElement);
}

}  // namespace thaw::frozen
