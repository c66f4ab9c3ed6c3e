// Forms that a backend with a table runs: operators that it has kernels for. Where its device waits for shapes, as DirectML's does,
// positions without Shape -> Range, which goes through the CPU, and convolutions over two axes, which its kernels are made for.
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

// What is written in a node's place, where the backend has a kernel for each node that makes it of what the node read; else null, as
// more nodes would go without one.
ir::Value* only_with_kernels(const Site& s, ir::Value* made) {
  if (!made) return nullptr;
  std::unordered_set<const ir::Value*> seen{made};
  std::vector<const ir::Value*> open{made};
  for (const ir::Value* input : s.node().inputs()) seen.insert(input);
  while (!open.empty()) {
    const ir::Node* node = open.back()->producer();
    open.pop_back();
    if (!node || node->constant()) continue;
    if (node->domain().empty() && !s.has_kernel(node->op_type())) return nullptr;
    for (const ir::Value* input : node->inputs())
      if (input && seen.insert(input).second) open.push_back(input);
  }
  return made;
}

// What the backend has no kernel for, in the older operators that it stands for.
ir::Value* in_older_operators(const Site& s) {
  return s.has_kernel(s.node().op_type()) ? nullptr : only_with_kernels(s, s.in_older_operators());
}

ir::Value* expanded(const Site& s) {
  if (s.has_kernel(s.node().op_type()) || !s.has_kernel("Expand") || s.out().rank() < 1) return nullptr;
  const ir::Attribute* given = s.node().attribute("value");
  if (!given) return s.at().emit("Expand", {s.at().floats({1}, {0}), s.input(0)});
  const auto* tensor = given->as<std::shared_ptr<ir::Tensor>>();
  if (!tensor || (*tensor)->num_elements() != 1) return nullptr;
  ir::Tensor one = **tensor;
  one.name.clear();
  return s.at().emit("Expand", {s.at().writer().constant(std::move(one)), s.input(0)});
}

// A list of one number an axis, and one for an axis before it.
void add_axis(ops::Attributes& attributes, const ir::Node& node, std::string_view name, int64_t number) {
  const auto given = node.attribute_ints(name);
  if (given.empty()) return;
  std::vector<int64_t> list;
  const bool both_ends = given.size() == 2;
  for (const int64_t one : given) {
    list.push_back(number);
    list.push_back(one);
  }
  if (both_ends) list = {number, given[0], number, given[1]};
  attributes.push_back({std::string(name), std::move(list)});
}

ir::Value* over_two_axes(const Site& s) {
  if (!s.backend().shapes_on_host) return nullptr;
  if (s.in(0).rank() != 3 || s.in(1).rank() != 3) return nullptr;
  const ops::Emit& at = s.at();
  ops::Attributes attributes;
  for (const ir::Attribute& attribute : s.node().attributes())
    if (attribute.name == "auto_pad" || attribute.name == "group") attributes.push_back(attribute);
  for (const std::string_view name : {"kernel_shape", "strides", "dilations", "output_shape"})
    add_axis(attributes, s.node(), name, 1);
  for (const std::string_view name : {"pads", "output_padding"}) add_axis(attributes, s.node(), name, 0);
  std::vector<ir::Value*> inputs = {at.unsqueeze(s.input(0), {2}), at.unsqueeze(s.input(1), {2})};
  if (s.input(2)) inputs.push_back(s.input(2));
  return at.squeeze(at.emit("ConvTranspose", std::move(inputs), std::move(attributes)), {2});
}

// --- Positions ---

constexpr int kMostAxes = 3;          // of integers whose zeros are counted whole: tokens, masks, positions
constexpr int kMostNodesLooked = 24;  // nodes between a size and the tensor whose size it is
constexpr size_t kMostLengths = 32;

// A tensor that is as long along one of its axes.
struct Length {
  ir::Value* value = nullptr;
  int axis = 0;
  dim::Dim size;
  int cost = 0;
};

class Counter {
 public:
  explicit Counter(const Site& range) : s_(range), at_(range.at()) {
    const ir::Graph& graph = *range.node().graph();
    for (ir::Value* input : graph.inputs()) offer(input, 0);
    std::vector<ir::Value*> open{range.input(0), range.input(1)};
    std::unordered_set<const ir::Node*> seen;
    for (size_t i = 0; i < open.size() && i < kMostNodesLooked; ++i) {
      ir::Node* node = open[i]->producer();
      if (!node || !seen.insert(node).second) continue;
      const bool measures = node->op_type() == "Shape" && node->domain().empty();
      for (ir::Value* operand : node->inputs()) {
        if (!operand || operand->graph() != &graph) continue;
        if (measures) {
          offer(operand, kMostAxes + 2);
        } else {
          open.push_back(operand);
        }
      }
    }
  }

  ir::Value* write(const dim::Dim& length) const {
    ir::Value* zeros = zeros_of(length);
    if (!zeros) return nullptr;
    return at_.emit("CumSum", {at_.add(zeros, at_.integer(1)), at_.integer(0)}, {{"exclusive", int64_t{1}}});
  }

  // How many there are, as a scalar; null where no tensor tells.
  ir::Value* count(const dim::Dim& size) const {
    const Length* from = find(size);
    return from ? at_.reduce("ReduceSum", at_.add(zeros_along(*from), at_.integer(1)), {0}, false) : nullptr;
  }

 private:
  // Integers of few axes are the shortest way to so many zeros; of floats, one number each is looked at.
  void offer(ir::Value* value, int more) {
    const ops::Fact& fact = s_.fact(value);
    const bool counts = ir::is_integer(fact.dtype) || fact.dtype == ir::DataType::kBool;
    if (!counts && fact.dtype != ir::DataType::kFloat && fact.dtype != ir::DataType::kFloat16) return;
    const int cost = more + (counts && fact.rank() <= kMostAxes ? fact.rank() : kMostAxes + 1);
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const dim::Dim size = fact.dim(axis);
      if (size.is_unknown() || size.is_constant()) continue;
      const auto known = std::ranges::find_if(lengths_, [&](const Length& one) { return dim::same(one.size, size); });
      if (known == lengths_.end()) {
        if (lengths_.size() < kMostLengths) lengths_.push_back({value, axis, size, cost});
      } else if (cost < known->cost) {
        *known = {value, axis, size, cost};
      }
    }
  }

  const Length* find(const dim::Dim& size) const {
    const auto found = std::ranges::find_if(lengths_, [&](const Length& one) { return dim::same(one.size, size); });
    return found == lengths_.end() ? nullptr : &*found;
  }

  // Of a past and what is new together, too.
  ir::Value* zeros_of(const dim::Dim& length) const {
    if (const Length* whole = find(length)) return zeros_along(*whole);
    for (const Length& past : lengths_)
      for (const Length& now : lengths_)
        if (dim::same(past.size + now.size, length)) return at_.concat({zeros_along(past), zeros_along(now)}, 0);
    return nullptr;
  }

  ir::Value* zeros_along(const Length& from) const {
    const ops::Fact& fact = s_.fact(from.value);
    std::vector<int64_t> others;
    for (int axis = 0; axis < fact.rank(); ++axis)
      if (axis != from.axis) others.push_back(axis);
    ir::Value* zeros = nullptr;
    if (!ir::is_floating(fact.dtype) && fact.rank() <= kMostAxes) {
      ir::Value* numbers = fact.dtype == ir::DataType::kInt64 ? from.value : at_.cast(from.value, ir::DataType::kInt64);
      zeros = at_.mul(numbers, at_.integer(0));
    } else {
      const ir::DataType type = fact.dtype == ir::DataType::kFloat16 ? fact.dtype : ir::DataType::kFloat;
      ir::Value* some = first_of(from.value, others);
      if (fact.dtype != type) some = at_.cast(some, type);
      // No number is greater than itself, and neither is what is none.
      zeros = at_.cast(at_.emit("Greater", {some, some}), ir::DataType::kInt64);
    }
    return others.empty() ? zeros : at_.reduce("ReduceSum", zeros, others, false);
  }

  // The first position along each of some axes.
  ir::Value* first_of(ir::Value* value, const std::vector<int64_t>& axes) const {
    if (axes.empty()) return value;
    const std::vector<int64_t> begin(axes.size(), 0), end(axes.size(), 1);
    return at_.emit("Slice", {value, at_.list(begin), at_.list(end), at_.list(axes)});
  }

  const Site& s_;
  const ops::Emit& at_;
  std::vector<Length> lengths_;  // of different sizes, each of the tensor that costs least
};

// Where a Range begins, as what is added to positions; the same positions where it is zero.
ir::Value* begun(const Site& s, const Counter& counter, ir::Value* positions) {
  if (s.number(s.input(0)) == 0) return positions;
  const ops::ElementsPtr& known = s.in(0).elements;
  const dim::Dim start = known && known->size() == 1 ? known->front().as_dim() : dim::Dim();
  ir::Value* first = start.is_known() && !start.is_constant() ? counter.count(start) : nullptr;
  if (!first) {
    first = s.in(0).dtype == ir::DataType::kInt64 ? s.input(0) : s.at().cast(s.input(0), ir::DataType::kInt64);
    if (s.in(0).rank() > 0) first = s.at().reshape(first, s.at().list({1}));
  }
  return s.at().add(positions, first);
}

// A Range in steps of one, as a cumulative sum of ones, and where it begins: counted, not computed from sizes, for a
// device that computes shapes on its host. Null where no tensor is known to be as long, or none of the graph's own.
ir::Value* count_positions(const Site& s) {
  if (!s.backend().shapes_on_host) return nullptr;
  const ir::DataType type = s.out().dtype;
  if (s.node().graph()->parent() != nullptr || s.out().rank() != 1 || s.out().dim(0).is_constant()) return nullptr;
  if (type != ir::DataType::kInt64 && type != ir::DataType::kInt32) return nullptr;
  if (s.number(s.input(2)) != 1 || !s.in(0).has_rank()) return nullptr;
  const Counter counter(s);
  ir::Value* positions = counter.write(s.out().dim(0));
  if (!positions) return nullptr;
  positions = begun(s, counter, positions);
  return type == ir::DataType::kInt64 ? positions : s.at().cast(positions, type);
}

const Simplification kBackendForms[] = {
    {"write in older operators",
     {"Attention", "Gelu", "GroupNormalization", "HardSwish", "Mish", "RMSNormalization", "RotaryEmbedding", "Swish"},
     in_older_operators},
    {"expand a constant", {"ConstantOfShape"}, expanded},
    {"count positions", {"Range"}, count_positions},
    {"convolve over two axes", {"ConvTranspose"}, over_two_axes},
};

}  // namespace

std::span<const Simplification> backend_forms() { return kBackendForms; }

}  // namespace thaw::optimizing
