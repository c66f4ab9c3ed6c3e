#include "thaw/optimize/rotary/halves.h"

#include <algorithm>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kMostAngles = int64_t{1} << 24;  // elements of a table that are compared

std::optional<int64_t> last_size(const ir::Value* value, const infer::Inference& facts) {
  if (!value) return std::nullopt;
  const ops::Fact& fact = facts.fact(value);
  return fact.rank() > 0 ? fact.dim(fact.rank() - 1).constant() : std::nullopt;
}

// The one integer that a value is at every size: half of a width is often computed.
std::optional<int64_t> integer_of(const ir::Value* value, const infer::Inference& facts) {
  if (!value) return std::nullopt;
  if (const ir::Tensor* tensor = constant_of(value)) {
    const bool is_one = tensor->num_elements() == 1 && ir::is_integer(tensor->data_type);
    return is_one ? std::optional(tensor->to_int64().front()) : std::nullopt;
  }
  const ops::Fact& fact = facts.fact(value);
  if (!ir::is_integer(fact.dtype) || !fact.elements || fact.elements->size() != 1) return std::nullopt;
  return fact.elements->front().as_int();
}

std::optional<LastAxisPart> part_of_split(ir::Value* value, const ir::Node& split, const infer::Inference& facts) {
  const auto whole = last_size(split.input(0), facts);
  const int rank = facts.fact(split.input(0)).rank();
  const int64_t axis = split.attribute_int("axis", 0);
  if (!whole || rank <= 0 || (axis != -1 && axis != rank - 1)) return std::nullopt;
  LastAxisPart part{split.input(0), 0, 0, 1, *whole};
  for (const ir::Value* output : split.outputs()) {
    const auto size = last_size(output, facts);
    if (!size) return std::nullopt;
    part.size = *size;
    if (output == value) return part;
    part.start += *size;
  }
  return std::nullopt;
}

std::optional<LastAxisPart> part_of_slice(const ir::Node& slice, const infer::Inference& facts) {
  const auto whole = last_size(slice.input(0), facts), size = last_size(slice.output(0), facts);
  const int rank = facts.fact(slice.input(0)).rank();
  const auto start = integer_of(slice.input(1), facts);
  const auto axis = slice.input(3) ? integer_of(slice.input(3), facts)
                    : rank == 1    ? std::optional<int64_t>(0)
                                   : std::nullopt;
  const auto step = slice.input(4) ? integer_of(slice.input(4), facts) : std::optional<int64_t>(1);
  if (!whole || !size || !start || !axis || !step || *step <= 0 || (*axis != -1 && *axis != rank - 1))
    return std::nullopt;
  const int64_t from = *start < 0 ? std::max<int64_t>(*start + *whole, 0) : *start;
  return LastAxisPart{slice.input(0), from, *size, *step, *whole};
}

// [..., n, 2] of [..., 2 n], and one of the two: every second element.
std::optional<LastAxisPart> part_of_pairs(ir::Value* part, ir::Value* pairs, int64_t position,
                                          const infer::Inference& facts) {
  const ir::Node* reshape = producer_of(pairs, "Reshape");
  const auto size = last_size(part, facts), whole = reshape ? last_size(reshape->input(0), facts) : std::nullopt;
  const bool are_pairs = reshape && last_size(pairs, facts) == 2 && size && whole && *whole == 2 * *size &&
                         facts.fact(reshape->input(0)).rank() == facts.fact(part).rank();
  return are_pairs ? std::optional(LastAxisPart{reshape->input(0), position, *size, 2, *whole}) : std::nullopt;
}

bool is_over_last_axis(const ir::Node& node, const infer::Inference& facts, int64_t otherwise) {
  const auto axis = axis_of(node, facts, otherwise);
  return axis && *axis == facts.fact(node.output(0)).rank() - 1;
}

// Operators of one tensor and perhaps numbers, element by element.
bool is_elementwise(const ir::Node& node) {
  static constexpr std::string_view kNames[] = {"Cos", "Sin", "Cast", "Identity", "Neg", "Mul", "Div", "Add", "Sub"};
  return std::ranges::find(kNames, node.op_type()) != std::end(kNames);
}

// Whether none of an Unsqueeze's new axes is the last.
bool is_before_last_axis(const ir::Node& unsqueeze, int rank) {
  const ir::Tensor* operand = constant_of(unsqueeze.input(1));
  const auto given = unsqueeze.attribute_ints("axes");
  std::vector<int64_t> axes(given.begin(), given.end());
  if (operand && ir::is_integer(operand->data_type)) axes = operand->to_int64();
  return rank > 0 && !axes.empty() &&
         std::ranges::none_of(axes, [&](int64_t axis) { return axis == -1 || axis == rank - 1; });
}

// Two that are one value, or each a new axis of it.
bool are_twice_the_same(const ir::Value* a, const ir::Value* b) {
  if (!a || !b) return false;
  if (a == b) return true;
  const ir::Node *first = producer_of(a, "Unsqueeze"), *second = producer_of(b, "Unsqueeze");
  return first && second && first->input(0) == second->input(0);
}

}  // namespace

std::optional<int64_t> axis_of(const ir::Node& node, const infer::Inference& facts, int64_t otherwise) {
  const int64_t axis = node.attribute_int("axis", otherwise);
  const int rank = facts.fact(node.output(0)).rank();
  if (axis >= 0) return axis;
  return rank < 0 ? std::nullopt : std::optional(axis + rank);
}

std::optional<LastAxisPart> part_of_last_axis(ir::Value* value, const infer::Inference& facts) {
  const ir::Node* node = value ? value->producer() : nullptr;
  if (!node || !node->domain().empty()) return std::nullopt;
  if (node->op_type() == "Split") return part_of_split(value, *node, facts);
  if (node->op_type() == "Slice") return part_of_slice(*node, facts);
  const auto is_of_last_axis = [&](const ir::Node& one) {
    const int rank = facts.fact(one.input(0)).rank();
    const int64_t axis = one.attribute_int("axis", 0);
    return rank > 0 && (axis == -1 || axis == rank - 1);
  };
  if (node->op_type() == "Gather") {
    const auto position = integer_of(node->input(1), facts);
    if (!position || facts.fact(node->input(1)).rank() != 0 || !is_of_last_axis(*node)) return std::nullopt;
    return part_of_pairs(value, node->input(0), *position < 0 ? *position + 2 : *position, facts);
  }
  if (node->op_type() == "Squeeze") {
    const ir::Node* split = node->input(0) ? node->input(0)->producer() : nullptr;
    if (!split || split->op_type() != "Split" || !split->domain().empty() || !is_of_last_axis(*split) ||
        last_size(node->input(0), facts) != 1)
      return std::nullopt;
    return part_of_pairs(value, split->input(0), node->input(0)->producer_index(), facts);
  }
  return std::nullopt;
}

bool EqualHalves::holds(const ir::Value* value, bool interleaved, int depth) {
  if (!value || depth == 0) return false;
  auto& known = known_[interleaved ? 1 : 0];
  if (const auto at = known.find(value); at != known.end()) return at->second;
  const bool result = find(value, interleaved, depth);
  known.emplace(value, result);
  return result;
}

bool EqualHalves::find(const ir::Value* value, bool interleaved, int depth) {
  // A size that is not known is no matter where the operators alone tell that rows stay rows.
  const auto size = last_size(value, facts_);
  if (size.value_or(0) % 2 != 0) return false;
  if (const ir::Tensor* constant = constant_of(value)) return holds_of_constant(*constant, interleaved);
  const ir::Node* node = value->producer();
  if (!node || !node->domain().empty()) return false;
  const std::string& op = node->op_type();
  const auto keeps_size = [&](const ir::Value* from) { return size && last_size(from, facts_) == size; };
  const auto goes_on = [&](const ir::Value* from) { return holds(from, interleaved, depth - 1); };
  if (is_elementwise(*node)) {
    for (const ir::Value* operand : node->inputs()) {
      const bool spreads = operand && (last_size(operand, facts_) == 1 || facts_.fact(operand).rank() == 0);
      if (!spreads && (!operand || !goes_on(operand))) return false;
    }
    return true;
  }
  const int rank = facts_.fact(value).rank();
  if (op == "Transpose") {
    const auto permutation = node->attribute_ints("perm");
    return !permutation.empty() && permutation.back() == rank - 1 && goes_on(node->input(0));
  }
  if (op == "Gather") {
    const int from = facts_.fact(node->input(0)).rank();
    const int64_t axis = node->attribute_int("axis", 0);
    return from > 1 && axis != -1 && axis != from - 1 && goes_on(node->input(0));
  }
  if (op == "Concat" && is_over_last_axis(*node, facts_, 0))
    return !interleaved && node->inputs().size() == 2 && are_twice_the_same(node->input(0), node->input(1));
  if (op == "Unsqueeze" && is_before_last_axis(*node, rank)) return goes_on(node->input(0));
  if (!size) return false;
  if (op == "Tile" && !interleaved && last_size(node->input(0), facts_) == *size / 2) return true;
  if (op == "Reshape") {
    if (keeps_size(node->input(0)) && goes_on(node->input(0))) return true;
    // [..., 2, n] or [..., n, 2], spread along the two.
    const ir::Value* pairs = node->input(0);
    const ops::Fact& apart = facts_.fact(pairs);
    const int axis = apart.rank() - (interleaved ? 1 : 2);
    if (axis < 1 || !apart.dim(axis).is_constant(2) || !apart.dim(2 * apart.rank() - 3 - axis).is_constant(*size / 2))
      return false;
    const ir::Node* made = pairs->producer();
    if (!made || !made->domain().empty() || !made->input(0)) return false;
    const ops::Fact& from = facts_.fact(made->input(0));
    const bool is_one = from.rank() == apart.rank() && from.dim(axis).is_constant(1);
    if (made->op_type() == "Expand" || made->op_type() == "Tile") return is_one;
    return made->op_type() == "Concat" && is_one && axis_of(*made, facts_, 0) == axis && made->inputs().size() == 2 &&
           are_twice_the_same(made->input(0), made->input(1));
  }
  const bool keeps_rows = op == "Unsqueeze" || op == "Squeeze" || op == "Expand" || op == "Slice";
  return keeps_rows && keeps_size(node->input(0)) && goes_on(node->input(0));
}

bool EqualHalves::holds_of_constant(const ir::Tensor& tensor, bool interleaved) const {
  const int64_t width = tensor.dims.empty() ? 0 : tensor.dims.back(), half = width / 2;
  if (half == 0 || tensor.num_elements() > kMostAngles || !ir::is_floating(tensor.data_type)) return false;
  const std::vector<double> all = tensor.to_double();
  for (size_t row = 0; row < all.size(); row += static_cast<size_t>(width)) {
    for (int64_t i = 0; i < half; ++i) {
      const size_t a = row + static_cast<size_t>(interleaved ? 2 * i : i);
      if (all[a] != all[a + static_cast<size_t>(interleaved ? 1 : half)]) return false;
    }
  }
  return true;
}

}  // namespace thaw::optimizing
