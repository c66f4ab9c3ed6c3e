#include "thaw/batch/node_batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/ir/graph/insert_node.h"

namespace thaw::batch {

namespace {

// The opset that an operator which rules put in came with, as they use it.
int64_t first_opset(std::string_view op) {
  constexpr std::pair<std::string_view, int64_t> kNewer[] = {{"Expand", 8}, {"Where", 9}, {"Range", 11},
                                                             {"Round", 11}, {"Clip", 11}, {"GatherND", 12}};
  const auto* found = std::ranges::find(kNewer, op, &std::pair<std::string_view, int64_t>::first);
  return found == std::end(kNewer) ? 0 : found->second;
}

}  // namespace

ir::Value* Emitter::emit(std::string_view op, std::vector<ir::Value*> inputs, Attributes attributes) {
  if (state_.opset < first_opset(op))
    throw CannotBatch{fmt::format("that takes {}, as from opset {} on", op, first_opset(op))};
  return ir::insert_node(graph_, before_, op, std::move(inputs), std::move(attributes), fmt::format("batch_{}", op));
}

ir::Value* Emitter::ints(const std::vector<int64_t>& values) {
  ir::Value*& known = state_.constants[fmt::format("{}", fmt::join(values, ","))];
  if (!known) {
    ir::Graph& root = *state_.model.graph;
    const std::string name = root.unique_name(fmt::format("batch_ints_{}", fmt::join(values, "_")));
    known = root.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(values.size())}, values));
  }
  return known;
}

ir::Value* Emitter::integer(int64_t value) {
  ir::Value*& known = state_.constants[fmt::format("scalar {}", value)];
  if (!known) {
    ir::Graph& root = *state_.model.graph;
    known = root.add_initializer(ir::Tensor::from_int64(root.unique_name("batch_int"), {}, {&value, 1}));
  }
  return known;
}

ir::Value* Emitter::scalar(double value, ir::DataType type) {
  ir::Value*& known = state_.constants[fmt::format("float {}", value)];
  if (!known) {
    const auto single = static_cast<float>(value);
    ir::Graph& root = *state_.model.graph;
    known = root.add_initializer(ir::Tensor::from_float(root.unique_name("batch_scalar"), {}, {&single, 1}));
  }
  if (type == ir::DataType::kFloat) return known;
  return emit("Cast", {known}, {{"to", static_cast<int64_t>(type)}});
}

ir::Value* Emitter::unsqueeze(ir::Value* x, const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;
  return state_.opset < 13 ? emit("Unsqueeze", {x}, {{"axes", axes}}) : emit("Unsqueeze", {x, ints(axes)});
}

ir::Value* Emitter::squeeze(ir::Value* x, const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;
  return state_.opset < 13 ? emit("Squeeze", {x}, {{"axes", axes}}) : emit("Squeeze", {x, ints(axes)});
}

ir::Value* Emitter::transpose(ir::Value* x, const std::vector<int64_t>& permutation) {
  return emit("Transpose", {x}, {{"perm", permutation}});
}

ir::Value* Emitter::concat(std::vector<ir::Value*> parts, int64_t axis) {
  return emit("Concat", std::move(parts), {{"axis", axis}});
}

ir::Value* Emitter::reduce(std::string_view op, ir::Value* x, const std::vector<int64_t>& axes, bool keepdims) {
  if (axes.empty()) return x;
  Attributes attributes{{"keepdims", int64_t{keepdims}}};
  const bool takes_operand = state_.opset >= 18 || (op == "ReduceSum" && state_.opset >= 13);
  if (takes_operand) return emit(op, {x, ints(axes)}, std::move(attributes));
  attributes.push_back({"axes", axes});
  return emit(op, {x}, std::move(attributes));
}

ir::Value* Emitter::sample_numbers(int axes) {
  std::vector<int64_t> after(static_cast<size_t>(axes));
  std::iota(after.begin(), after.end(), 1);
  return unsqueeze(emit("Range", {integer(0), squeeze(batch_size(), {0}), integer(1)}), after);
}

ir::Value* Emitter::slice(ir::Value* x, int64_t begin, int64_t end) {
  if (state_.opset < 10) {
    const auto list = [](int64_t value) { return std::vector<int64_t>{value}; };
    return emit("Slice", {x}, {{"starts", list(begin)}, {"ends", list(end)}, {"axes", list(0)}});
  }
  return emit("Slice", {x, ints({begin}), ints({end}), ints({0})});
}

ir::Value* Emitter::expanded(ir::Value* x, int rank) {
  if (rank == 1) return emit("Expand", {x, batch_size()});
  return emit("Expand", {x, concat({batch_size(), ints(std::vector<int64_t>(static_cast<size_t>(rank - 1), 1))}, 0)});
}

ir::Value* Emitter::repeated(ir::Value* x, int rank) { return expanded(unsqueeze(x, {0}), rank + 1); }

ir::Value* Emitter::as_leading(ir::Value* original) {
  const auto found = state_.batched.find(original);
  if (found != state_.batched.end())
    return found->second.form == Form::kMerged ? unsqueeze(found->second.value, {1}) : found->second.value;
  const ops::Fact& fact = state_.fact(original);
  if (fact.kind == ops::Fact::Kind::kSequence && fact.length.is_constant(0)) return original;
  if (!fact.is_tensor()) throw CannotBatch{"a sequence that is the same for all samples meets what differs"};
  if (!fact.has_rank()) throw CannotBatch{fmt::format("the rank of '{}' is not known", original->name())};
  return repeated(original, fact.rank());
}

// From opset 14 on, a 0 among the sizes is the size of an axis without elements.
constexpr int64_t kAllowZeroOpset = 14;

ir::Value* Emitter::joined(ir::Value* x) {
  ir::Value* sizes = shape(x);
  if (state_.opset < kAllowZeroOpset) return emit("Reshape", {x, concat({ints({-1}), slice(sizes, 2)}, 0)});
  ir::Value* first = reduce("ReduceProd", slice(sizes, 0, 2), {0}, true);
  return emit("Reshape", {x, concat({first, slice(sizes, 2)}, 0)}, {{"allowzero", int64_t{1}}});
}

ir::Value* Emitter::parted(ir::Value* y, ir::Value* both) {
  ir::Value* sizes = concat({both, slice(shape(y), 1)}, 0);
  if (state_.opset < kAllowZeroOpset) return emit("Reshape", {y, sizes});
  return emit("Reshape", {y, sizes}, {{"allowzero", int64_t{1}}});
}

const Batched* NodeBatch::find(int i) const {
  const auto found = state_.batched.find(node_.input(i));
  return node_.input(i) && found != state_.batched.end() ? &found->second : nullptr;
}

int NodeBatch::rank(int i) const {
  if (!fact(i).has_rank()) refuse(fmt::format("the rank of its operand {} is not known", i));
  return fact(i).rank();
}

std::optional<std::vector<int64_t>> NodeBatch::constant_ints(int i) const {
  const ir::Value* value = node_.input(i);
  if (!value || is_batched(i)) return std::nullopt;
  if (const ir::Tensor* tensor = value->constant(); tensor && !value->is_input() && tensor->num_elements() < 4096)
    return tensor->to_int64();
  const ops::Fact& known = fact(i);
  if (!known.elements) return std::nullopt;
  std::vector<int64_t> values;
  for (const ops::Element& element : *known.elements) {
    const auto constant = element.as_dim().constant();
    if (!constant) return std::nullopt;
    values.push_back(*constant);
  }
  return values;
}

ir::Value* NodeBatch::shifted_axes(int i) {
  if (auto axes = constant_ints(i)) {
    if (rank(i) == 1) return ints(shifted(*axes));
    if (rank(i) == 0 && axes->size() == 1 && fact(i).dtype == ir::DataType::kInt64)
      return integer(shifted(axes->front()));
  }
  // Axes may be int32 (CumSum's).
  ir::Value* wide = emit("Cast", {original(i)}, {{"to", static_cast<int64_t>(ir::DataType::kInt64)}});
  ir::Value* moved = emit("Where", {emit("Less", {wide, integer(0)}), wide, emit("Add", {wide, integer(1)})});
  return fact(i).dtype == ir::DataType::kInt32 ? cast(moved, ir::DataType::kInt32) : moved;
}

bool NodeBatch::starts_with_one(const ops::Fact& fact) { return fact.rank() > 0 && fact.dim(0).is_constant(1); }

bool NodeBatch::can_merge(int i) const { return starts_with_one(fact(i)); }

ir::Value* NodeBatch::leading(int i) {
  const Batched* found = find(i);
  if (!found) return as_leading(node_.input(i));
  if (found->form == Form::kLeading) return found->value;
  if (is_inside_branch()) return unsqueeze(found->value, {1});
  ir::Value*& made = state_.as_leading[node_.input(i)];
  if (!made) made = unsqueeze(found->value, {1});
  return made;
}

ir::Value* NodeBatch::merged(int i) {
  const Batched* found = find(i);
  if (!can_merge(i)) refuse(fmt::format("the first axis of its operand {} is not 1 in every sample", i));
  if (!found) return expanded(node_.input(i), rank(i));
  if (found->form == Form::kMerged) return found->value;
  if (is_inside_branch()) return squeeze(found->value, {1});
  ir::Value*& made = state_.as_merged[node_.input(i)];
  if (!made) made = squeeze(found->value, {1});
  return made;
}

ir::Value* NodeBatch::aligned(int i, int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank - this->rank(i)));
  std::iota(axes.begin(), axes.end(), 1);
  return unsqueeze(leading(i), axes);
}

std::vector<int64_t> NodeBatch::shifted(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis = shifted(axis);
  return axes;
}

void NodeBatch::keep_on(Form form) {
  set_operand(0, form == Form::kMerged ? merged(0) : leading(0));
  keep(form);
}

void NodeBatch::keep(Form form) {
  for (ir::Value* output : node_.outputs())
    if (output) state_.batched[output] = {output, form};
}

void NodeBatch::become(int i, ir::Value* value, Form form) {
  note_change();
  if (ir::Value* output = node_.output(i)) state_.batched[output] = {value, form};
}

void NodeBatch::become_plain(int i, ir::Value* value) {
  note_change();
  ir::Value* output = node_.output(i);
  state_.stands_for[value] = output;
  graph_.replace_uses(output, value);
}

}  // namespace thaw::batch
