#include "thaw/ops/rule/batch.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/ops/rule/small_tensor.h"

namespace thaw::ops {

namespace {

// From opset 14 on, a 0 among the sizes is the size of an axis without elements.
constexpr int64_t kAllowZeroOpset = 14;

std::vector<int64_t> count_from(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace

ir::Value* BatchEmit::sample_numbers(int axes) const {
  return unsqueeze(emit("Range", {integer(0), squeeze(batch_size(), {0}), integer(1)}), count_from(1, axes));
}

ir::Value* BatchEmit::expanded(ir::Value* x, int rank) const {
  if (rank == 1) return emit("Expand", {x, batch_size()});
  return emit("Expand", {x, concat({batch_size(), list(std::vector<int64_t>(static_cast<size_t>(rank - 1), 1))}, 0)});
}

ir::Value* BatchEmit::repeated(ir::Value* x, int rank) const { return expanded(unsqueeze(x, {0}), rank + 1); }

ir::Value* BatchEmit::as_leading(ir::Value* original) const {
  if (const Batched* found = state_->batched(original))
    return found->form == Form::kMerged ? unsqueeze(found->value, {1}) : found->value;
  const Fact& fact = state_->fact(original);
  if (fact.kind == Fact::Kind::kSequence && fact.length.is_constant(0)) return original;
  if (!fact.is_tensor()) throw CannotBatch{"a sequence that is the same for all samples meets what differs"};
  if (!fact.has_rank()) throw CannotBatch{fmt::format("the rank of '{}' is not known", original->name())};
  return repeated(original, fact.rank());
}

ir::Value* BatchEmit::flattened(ir::Value* x) const {
  ir::Value* sizes = shape(x);
  if (writer().opset() < kAllowZeroOpset) return reshape(x, concat({list({-1}), slice(sizes, 2)}, 0));
  ir::Value* first = reduce("ReduceProd", slice(sizes, 0, 2), {0}, true);
  return emit("Reshape", {x, concat({first, slice(sizes, 2)}, 0)}, {{"allowzero", int64_t{1}}});
}

ir::Value* BatchEmit::unflattened(ir::Value* y, ir::Value* both) const {
  ir::Value* sizes = concat({both, slice(shape(y), 1)}, 0);
  if (writer().opset() < kAllowZeroOpset) return reshape(y, sizes);
  return emit("Reshape", {y, sizes}, {{"allowzero", int64_t{1}}});
}

BatchContext::BatchContext(BatchState& state, ir::Node& node, int64_t opset)
    : NodeView(node, opset), BatchEmit(state, *node.graph(), &node), changing_(node) {}

const Fact& BatchContext::input(int i) const { return state().fact(changing_.input(i)); }
const Fact& BatchContext::output(int i) const { return state().fact(changing_.output(i)); }

const ir::Tensor* BatchContext::constant(int i) const {
  const ir::Value* value = changing_.input(i);
  return value ? value->fixed_constant() : nullptr;
}

const Elements* BatchContext::elements(int i) {
  if (const Fact& fact = input(i); fact.elements) return fact.elements.get();
  const ir::Tensor* tensor = constant(i);
  if (!tensor) return nullptr;
  read_.resize(std::max(read_.size(), static_cast<size_t>(i) + 1));
  ElementsPtr& read = read_[static_cast<size_t>(i)];
  if (!read) read = small_elements(*tensor);
  return read.get();
}

int BatchContext::rank(int i) const {
  if (!input(i).has_rank()) refuse(fmt::format("the rank of its operand {} is not known", i));
  return input(i).rank();
}

std::optional<std::vector<int64_t>> BatchContext::constant_ints(int i) {
  return changing_.input(i) && !is_batched(i) ? ints(i) : std::nullopt;
}

bool BatchContext::starts_with_one(const Fact& fact) { return fact.rank() > 0 && fact.dim(0).is_constant(1); }

const Batched* BatchContext::find(int i) const {
  return changing_.input(i) ? state().batched(changing_.input(i)) : nullptr;
}

ir::Value* BatchContext::shifted_axes(int i) {
  if (auto axes = constant_ints(i)) {
    if (rank(i) == 1) return list(shifted(*axes));
    if (rank(i) == 0 && axes->size() == 1 && input(i).dtype == ir::DataType::kInt64)
      return integer(shifted(axes->front()));
  }
  // Axes may be int32 (CumSum's).
  ir::Value* wide = emit("Cast", {original(i)}, {{"to", static_cast<int64_t>(ir::DataType::kInt64)}});
  ir::Value* moved = emit("Where", {emit("Less", {wide, integer(0)}), wide, add(wide, integer(1))});
  return input(i).dtype == ir::DataType::kInt32 ? cast(moved, ir::DataType::kInt32) : moved;
}

ir::Value* BatchContext::leading(int i) {
  const Batched* found = find(i);
  if (!found) return as_leading(changing_.input(i));
  if (found->form == Form::kLeading) return found->value;
  if (is_inside_branch()) return unsqueeze(found->value, {1});
  ir::Value*& made = state().converted(changing_.input(i), Form::kLeading);
  if (!made) made = unsqueeze(found->value, {1});
  return made;
}

ir::Value* BatchContext::merged(int i) {
  const Batched* found = find(i);
  if (!can_merge(i)) refuse(fmt::format("the first axis of its operand {} is not 1 in every sample", i));
  if (!found) return expanded(changing_.input(i), rank(i));
  if (found->form == Form::kMerged) return found->value;
  if (is_inside_branch()) return squeeze(found->value, {1});
  ir::Value*& made = state().converted(changing_.input(i), Form::kMerged);
  if (!made) made = squeeze(found->value, {1});
  return made;
}

ir::Value* BatchContext::aligned(int i, int rank) { return unsqueeze(leading(i), count_from(1, rank - this->rank(i))); }

std::vector<int64_t> BatchContext::shifted(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis = shifted(axis);
  return axes;
}

std::vector<int64_t> BatchContext::axes_of_sample(int rank) { return count_from(1, rank); }

void BatchContext::keep(Form form) {
  for (ir::Value* output : changing_.outputs())
    if (output) state().set_batched(output, {output, form});
}

void BatchContext::keep_on(Form form) {
  set_operand(0, form == Form::kMerged ? merged(0) : leading(0));
  keep(form);
}

void BatchContext::become(int i, ir::Value* value, Form form) {
  note_change();
  if (ir::Value* output = changing_.output(i)) state().set_batched(output, {value, form});
}

void BatchContext::become_plain(int i, ir::Value* value) {
  note_change();
  ir::Value* output = changing_.output(i);
  if (!output) return;
  state().set_stand_in(value, output);
  graph().replace_uses(output, value);
}

void BatchContext::require_same_for_all(int i, std::string_view what) {
  if (is_batched(i)) refuse(fmt::format("its {} differs from sample to sample, so that results differ in size", what));
}

void BatchContext::require_alone() {
  for (int i = 1; i < num_inputs(); ++i)
    if (is_batched(i)) refuse(fmt::format("its operand {} differs from sample to sample", i));
}

ir::Graph& BatchContext::graph_attribute(std::string_view name) {
  const ir::Attribute* attribute = changing_.attribute(name);
  const auto* graph = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
  if (!graph || !*graph) refuse(fmt::format("it has no {}", name));
  return **graph;
}

bool BatchContext::returns_samples(const ir::Graph& body, int i) const {
  const auto at = static_cast<size_t>(i);
  return at < body.outputs().size() && state().batched(body.outputs()[at]) != nullptr;
}

void BatchContext::return_leading(ir::Graph& body, int i) {
  ir::Value* result = body.outputs()[static_cast<size_t>(i)];
  const Fact& fact = state().fact(result);
  ir::Value* leading = BatchEmit(state(), body, nullptr).as_leading(result);
  if (!fact.is_tensor()) {
    leading->forget_shape();
  } else {
    // Sizes stay declared: they say what a Loop collects where it does not run at all.
    ir::Type type = ir::Type::tensor(fact.dtype);
    if (fact.has_rank()) type.shape.emplace(static_cast<size_t>(fact.rank() + 1));
    for (int axis = 0; axis < fact.rank(); ++axis)
      (*type.shape)[static_cast<size_t>(axis) + 1].value = fact.dim(axis).constant();
    leading->set_type(std::move(type));
  }
  if (leading != result) body.set_output(i, leading);
}

void BatchContext::give_samples(int operand, ir::Value* formal) {
  set_operand(operand, leading(operand));
  formal->forget_shape();
  state().set_batched(formal, {formal, Form::kLeading});
}

void BatchContext::give_state(int operand, ir::Value* formal) {
  if (is_batched(operand) || state().differs(formal)) give_samples(operand, formal);
}

void BatchContext::return_state(ir::Graph& body, const ir::Value* formal, int i) {
  if (state().batched(formal)) return return_leading(body, i);
  if (returns_samples(body, i)) refuse("what it carries begins alike and then differs");
}

}  // namespace thaw::ops
