#include "thaw/lift/loop/mask_padding.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/insert_node.h"
#include "thaw/ops/rule/batching.h"

namespace thaw::lift {
namespace {

using ops::BatchKind;

struct Refusal {
  std::string why;
};

class Masking {
 public:
  Masking(ir::Model& body, const std::string& length, ir::Value* mask)
      : model_(body), graph_(*body.graph), mask_(mask), facts_(infer::infer(body, scope_)) {
    const auto symbol = scope_.find(length);
    if (symbol) length_ = *symbol;
  }

  void run(std::span<const int64_t> output_axes) {
    std::vector<ir::Node*> nodes;
    for (ir::Node* node : graph_.nodes()) nodes.push_back(node);
    for (ir::Node* node : nodes) {
      try {
        visit(*node);
      } catch (const Refusal& refusal) {
        throw Refusal{fmt::format("{} {}", node->describe(), refusal.why)};
      }
    }
    for (size_t i = 0; i < output_axes.size(); ++i) {
      const ir::Value* output = graph_.outputs()[i];
      if (window_axes(output) != std::vector{output_axes[i]})
        throw Refusal{fmt::format("'{}' does not have a row for each position", output->name())};
    }
  }

 private:
  const ops::Fact& fact(const ir::Value* v) const { return facts_.fact(v); }

  std::vector<int64_t> window_axes(const ir::Value* v) const {
    std::vector<int64_t> axes;
    if (!v || !fact(v).shape) return axes;
    for (int64_t axis = 0; axis < fact(v).rank(); ++axis)
      if (dim::same(fact(v).dim(static_cast<int>(axis)), length_)) axes.push_back(axis);
    return axes;
  }
  bool has_axis(const ir::Value* v, int64_t axis) const {
    const auto axes = window_axes(v);
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }
  bool depends_on_length(dim::Dim d) const {
    if (!d.is_symbolic()) return false;
    const auto symbols = dim::symbols_of(d);
    return std::find(symbols.begin(), symbols.end(), scope_.symbol_id(length_)) != symbols.end();
  }
  // Lists of sizes, which are not data: they are those of the padded window afterwards.
  bool is_size(const ir::Value* v) const {
    const ops::Fact& f = fact(v);
    return ir::is_integer(f.dtype) && f.elements && f.rank() <= 1;
  }
  bool is_length_size(const ir::Value* v) const {
    return v && is_size(v) && std::any_of(fact(v).elements->begin(), fact(v).elements->end(), [&](const auto& element) {
             return element.is_unknown() || depends_on_length(element.num()) || depends_on_length(element.den());
           });
  }

  void check_shape(const ir::Value* v) const {
    if (!v || is_size(v)) return;
    if (!fact(v).shape) throw Refusal{fmt::format("makes '{}', whose rank is not known", v->name())};
    for (const dim::Dim d : *fact(v).shape) {
      if (depends_on_length(d) && !dim::same(d, length_))
        throw Refusal{fmt::format("makes an axis of {} out of the window's", dim::to_string(d))};
    }
  }

  ir::Value* ints(const std::vector<int64_t>& values) {
    return graph_.add_initializer(
        ir::Tensor::from_int64(graph_.unique_name("axes"), {static_cast<int64_t>(values.size())}, values));
  }

  // The mask to broadcast along an axis of a tensor of that rank: [1, length] -> [1, … length …].
  ir::Value* mask_for(int64_t axis, int64_t rank, ir::Node* before) {
    ir::Value* mask = axis == 0 ? ir::insert_node(graph_, before, "Squeeze", {mask_, ints({0})}, {}, "mask") : mask_;
    std::vector<int64_t> axes;
    for (int64_t other = 1; other < rank; ++other)
      if (other != axis) axes.push_back(other);
    return axes.empty() ? mask : ir::insert_node(graph_, before, "Unsqueeze", {mask, ints(axes)}, {}, "mask");
  }

  // The node's operand with another number where there is padding.
  void fill(ir::Node& node, int input, int64_t axis, double value) {
    ir::Value* x = node.input(input);
    const ir::DataType type = fact(x).dtype;
    if (!ir::is_floating(type)) throw Refusal{"takes integers along the window"};
    ir::Tensor number =
        ir::Tensor::from_float(graph_.unique_name("padding"), {}, std::vector{static_cast<float>(value)});
    ir::Value* filler = graph_.add_initializer(std::move(number));
    if (type != ir::DataType::kFloat)
      filler = ir::insert_node(graph_, &node, "Cast", {filler}, {{"to", static_cast<int64_t>(type)}}, "padding");
    ir::Value* mask = mask_for(axis, fact(x).rank(), &node);
    node.set_input(input, ir::insert_node(graph_, &node, "Where", {mask, x, filler}, {}, x->name() + "_masked"));
  }
  double lowest(const ir::Value* v) const { return fact(v).dtype == ir::DataType::kFloat16 ? -65504.0 : -3.38e38; }

  void visit(ir::Node& node) {
    for (const ir::Value* output : node.outputs()) check_shape(output);
    if (node.op_type() == "Cast" && is_length_size(node.input(0)) &&
        fact(node.output(0)).dtype != fact(node.input(0)).dtype && !ir::is_integer(fact(node.output(0)).dtype))
      throw Refusal{"computes with the number of positions"};
    bool any = false;
    for (const ir::Value* input : node.inputs()) any |= !window_axes(input).empty();
    if (!any) return;
    const ops::Batching batching = ops::batching_of(node.domain(), node.op_type());
    switch (batching.kind) {
      case BatchKind::kElementwise:
      case BatchKind::kTranspose:
      case BatchKind::kUnsqueeze:
      case BatchKind::kSqueeze:
      case BatchKind::kExpand:
      case BatchKind::kShape:
        return;
      case BatchKind::kReshape:
      case BatchKind::kFlatten:
        return check_order(node);
      case BatchKind::kMatMul:
        return mask_matmul(node);
      case BatchKind::kAxis:
        return mask_axis(node, batching.axis);
      case BatchKind::kReduce:
        return mask_reduction(node);
      case BatchKind::kGemm:
        if (has_axis(node.input(0), node.attribute_int("transA", 0) != 0 ? 0 : 1) ||
            has_axis(node.input(1), node.attribute_int("transB", 0) != 0 ? 1 : 0))
          break;
        return;
      case BatchKind::kConcat:
      case BatchKind::kSplit:
      case BatchKind::kGather: {
        const int64_t axis = node.attribute_int("axis", 0), rank = fact(node.input(0)).rank();
        if (has_axis(node.input(0), axis < 0 ? axis + rank : axis)) break;
        return;
      }
      case BatchKind::kSlice:
      case BatchKind::kPad:
        if (window_axes(node.input(0)) == window_axes(node.output(0))) return;
        break;
      case BatchKind::kBatchFirst:
        if (window_axes(node.input(0)) == std::vector<int64_t>{0} && is_alone(node)) return;
        break;
      default:
        break;
    }
    refuse_mixing();
  }

  [[noreturn]] static void refuse_mixing() {
    throw Refusal{"mixes the positions of a window in a way that Thaw cannot mask"};
  }

  // Only the first operand has positions.
  bool is_alone(const ir::Node& node) const {
    for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i)
      if (!window_axes(node.input(i)).empty()) return false;
    return true;
  }

  // Elements keep their order: what comes before the window's axis must be as much as it was.
  void check_order(const ir::Node& node) {
    const auto before = [&](const ir::Value* v) {
      std::vector<dim::Dim> products;
      dim::Dim product = 1;
      for (const dim::Dim d : *fact(v).shape) {
        if (dim::same(d, length_)) products.push_back(product);
        product = product * d;
      }
      return products;
    };
    const auto from = before(node.input(0)), to = before(node.output(0));
    if (!std::equal(from.begin(), from.end(), to.begin(), to.end(),
                    [](dim::Dim a, dim::Dim b) { return dim::same(a, b); }))
      throw Refusal{"takes positions apart and joins them in another order"};
  }

  void mask_matmul(ir::Node& node) {
    const ir::Value* a = node.input(0);
    const int64_t rank = fact(a).rank();
    if (node.op_type() != "MatMul") refuse_mixing();
    if (!has_axis(a, rank - 1)) return;
    if (zeroed_.contains(a)) return;
    fill(node, 0, rank - 1, 0);
  }

  void mask_axis(ir::Node& node, int64_t otherwise) {
    const ir::Value* x = node.input(0);
    const int64_t rank = fact(x).rank(), given = node.attribute_int("axis", otherwise);
    const int64_t axis = given < 0 ? given + rank : given;
    const bool softmax = node.op_type() == "Softmax" || node.op_type() == "LogSoftmax";
    const bool to_the_end = node.op_type().ends_with("Normalization") || model_.opset("").value_or(1) < 13;
    bool met = false;
    for (const int64_t each : window_axes(x)) met |= to_the_end ? each >= axis : each == axis;
    if (!met) return;
    if (!softmax || (to_the_end && axis != rank - 1)) refuse_mixing();
    fill(node, 0, axis, lowest(x));
    if (node.op_type() == "Softmax" && axis == rank - 1) zeroed_.insert(node.output(0));
  }

  std::vector<int64_t> reduced_axes(const ir::Node& node) const {
    const int64_t rank = fact(node.input(0)).rank();
    std::vector<int64_t> axes;
    if (const ir::Value* list = node.input(1)) {
      if (!list->constant()) throw Refusal{"reduces axes that are not constants"};
      axes = list->constant()->to_int64();
    } else {
      const auto attribute = node.attribute_ints("axes");
      axes.assign(attribute.begin(), attribute.end());
    }
    if (axes.empty() && node.attribute_int("noop_with_empty_axes", 0) == 0)
      for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    return axes;
  }

  void mask_reduction(ir::Node& node) {
    const std::string& op = node.op_type();
    for (const int64_t axis : reduced_axes(node)) {
      if (!has_axis(node.input(0), axis)) continue;
      if (op == "ReduceSum" || op == "ReduceL1" || op == "ReduceL2" || op == "ReduceSumSquare") {
        fill(node, 0, axis, 0);
      } else if (op == "ReduceMax") {
        fill(node, 0, axis, lowest(node.input(0)));
      } else if (op == "ReduceMin") {
        fill(node, 0, axis, -lowest(node.input(0)));
      } else if (op == "ReduceMean") {
        const ir::DataType type = fact(node.input(0)).dtype;
        fill(node, 0, axis, 0);
        rescale(node, type);
      } else {
        refuse_mixing();
      }
    }
  }

  // A mean over the padded window becomes that over the window: times padded length, over length.
  void rescale(ir::Node& node, ir::DataType type) {
    ir::Node* after = graph_.next(&node);
    const Attributes to_type{{"to", static_cast<int64_t>(type)}};
    ir::Value* mask = ir::insert_node(graph_, after, "Squeeze", {mask_, ints({0})}, {}, "mask");
    ir::Value* ones = ir::insert_node(graph_, after, "Cast", {mask}, to_type, "valid");
    ir::Value* count = ir::insert_node(graph_, after, "ReduceSum", {ones}, {{"keepdims", int64_t{1}}}, "window_length");
    ir::Value* padded =
        ir::insert_node(graph_, after, "Cast", {ir::insert_node(graph_, after, "Shape", {mask}, {}, "padded")}, to_type,
                        "padded_length");
    ir::Value* factor = ir::insert_node(graph_, after, "Div", {padded, count}, {}, "mean_factor");
    ir::Value* mean = node.output(0);
    ir::Value* scaled = graph_.add_value(graph_.unique_name(mean->name() + "_of_window"));
    graph_.replace_uses(mean, scaled);
    graph_.add_node("Mul", "", {mean, factor}, {scaled}, scaled->name(), after);
  }

  using Attributes = std::vector<ir::Attribute>;
  ir::Model& model_;
  ir::Graph& graph_;
  ir::Value* mask_;
  dim::Scope scope_;
  infer::Result facts_;
  dim::Dim length_;
  std::set<const ir::Value*> zeroed_;  // along their last axis, where there is padding
};

}  // namespace

std::optional<std::string> mask_padding(ir::Model& body, const std::string& length, ir::Value* mask,
                                        std::span<const int64_t> output_axes) {
  try {
    Masking(body, length, mask).run(output_axes);
  } catch (const Refusal& refusal) {
    return refusal.why;
  }
  return std::nullopt;
}

}  // namespace thaw::lift
