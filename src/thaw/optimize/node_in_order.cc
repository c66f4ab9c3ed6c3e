#include "thaw/optimize/node_in_order.h"

#include <algorithm>
#include <set>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::optimizing {
namespace {

using ops::AxesMap, ops::AxisKind, ops::AxisLink, ops::OperandAxis, ops::Role;

constexpr int64_t kOpsetOfPlainSoftmax = 13;  // before, all axes from one on are one

// Operands that hold no axis and mean the same whatever the order is.
bool is_indifferent(Role role) {
  return role == Role::kLengths || role == Role::kBounds || role == Role::kSteps || role == Role::kSetting;
}

class Reordering {
 public:
  Reordering(ops::NodeView& view, const Order& order)
      : view_(view), order_(order), rank_(static_cast<int>(order.size())), op_(ops::registry().find(view.node())) {}

  std::optional<NodeInOrder> run() {
    const ir::Node& node = view_.node();
    if (!op_ || !node.domain().empty() || !op_->deterministic || !node.subgraphs().empty() ||
        !node.overload().empty() || node.outputs().empty())
      return std::nullopt;
    if (!may_be_known_kind()) return std::nullopt;  // before maps are made, which takes far longer
    if (is_elementwise() && op_->axes.pattern == ops::kBroadcastAxes.pattern) return broadcast();
    auto map = ops::axes_of(view_);
    if (!map) return std::nullopt;
    map_ = std::move(*map);
    out_rank_ = view_.output(0).rank();
    if (out_rank_ < 0 || !is_known_kind() || !read_operands() || !read_attributes() || !links_fit())
      return std::nullopt;
    return write();
  }

 private:
  bool is_elementwise() const { return op_->is_elementwise() || op_->converts; }

  bool may_be_known_kind() const {
    if (is_elementwise()) return true;
    const bool names_axes = op_->operands.find(Role::kAxes) >= 0 || op_->operands.find(Role::kPads) >= 0 ||
                            std::ranges::any_of(op_->attributes, [](const ops::AttributeRole& attribute) {
                              return attribute.role == Role::kAxes;
                            });
    return names_axes && op_->op_class != ops::OpClass::kContraction && op_->operands.find(Role::kShape) < 0;
  }

  bool is_known_kind() const {
    if (is_elementwise() || op_->moves_elements()) return true;
    if (op_->op_class == ops::OpClass::kReduction) {
      return !ir::is_floating(view_.output(0).dtype) || std::ranges::all_of(map_.links, [](const AxisLink& link) {
        return link.kind != AxisKind::kContracted || link.combine == ops::Combine::kMaximum ||
               link.combine == ops::Combine::kMinimum;
      });
    }
    const auto is_softmax = [](const AxisLink& link) {
      return link.combine == ops::Combine::kSoftmax || link.combine == ops::Combine::kLogSoftmax;
    };
    return view_.opset() >= kOpsetOfPlainSoftmax && std::ranges::any_of(map_.links, is_softmax);
  }

  // Of operands that all broadcast, what a map would say.
  std::optional<NodeInOrder> broadcast() {
    if (view_.output(0).rank() != rank_) return std::nullopt;
    for (int i = 0; i < view_.num_inputs(); ++i) {
      const int rank = view_.input(i).rank();
      if (view_.has_input(i) && (rank < 0 || rank > rank_)) return std::nullopt;
      result_.takes.push_back(rank > 0);
    }
    result_.results.assign(view_.node().outputs().size(), order_);
    return std::move(result_);
  }

  bool takes(int operand) const {
    return std::ranges::any_of(map_.links,
                               [&](const AxisLink& link) { return link.axis_of_input(operand).has_value(); });
  }

  bool read_operands() {
    for (int i = 0; i < view_.num_inputs(); ++i) {
      result_.takes.push_back(takes(i));
      if (!view_.has_input(i)) continue;
      const Role role = op_->operands[i];
      if (role == Role::kAxes) {
        if (!view_.constant(i) || !name(i)) return false;
      } else if (role == Role::kPads) {
        if (!view_.constant(i)) return false;
        pads_ = i;
      } else if (result_.takes.back()) {
        // Fewer axes than the others line up at the right, which only arithmetic does.
        if (view_.input(i).rank() != rank_ && !(is_elementwise() && view_.input(i).rank() < rank_)) return false;
      } else if (view_.input(i).rank() != 0 && !is_indifferent(role)) {
        return false;
      }
    }
    return true;
  }

  bool name(int operand) {
    auto axes = view_.ints(operand);
    if (!axes || !add_names(*axes)) return false;
    result_.lists.emplace_back(operand, std::move(*axes));
    return true;
  }

  // Names are made those from the front.
  bool add_names(std::vector<int64_t>& axes) {
    const int rank = std::max(rank_, out_rank_);
    for (int64_t& axis : axes) {
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return false;
      named_.insert(static_cast<int>(axis));
    }
    return true;
  }

  bool read_attributes() {
    for (const ops::AttributeRole& role : op_->attributes) {
      if (view_.opset() < role.first || view_.opset() > role.last) continue;
      if (role.role != Role::kAxes) continue;
      const std::string attribute(role.name);
      const ir::Attribute* given = view_.attribute(attribute);
      const auto* list = given ? given->as<std::vector<int64_t>>() : nullptr;
      const auto* one = given ? given->as<int64_t>() : nullptr;
      if (!given && role.otherwise == ops::AttributeRole::kRequired) continue;
      if (given && !list && !one) return false;
      std::vector<int64_t> axes = list ? *list : std::vector<int64_t>{one ? *one : role.otherwise};
      if (!add_names(axes)) return false;
      if (list) {
        result_.attributes.push_back({attribute, axes});
      } else {
        result_.attributes.push_back({attribute, axes.front()});
      }
    }
    return !(is_elementwise() && !named_.empty());
  }

  // Axes stay in their places, or are as many fewer or more as are named; what is not kept is named, or padded.
  bool links_fit() {
    std::set<int> cared_for;
    for (const AxisLink& link : map_.links) {
      if (link.kind == AxisKind::kContracted || link.kind == AxisKind::kNew) {
        for (const OperandAxis position : link.kind == AxisKind::kNew ? link.outputs : link.inputs)
          cared_for.insert(position.axis);
        continue;
      }
      if (link.inputs.empty() || link.outputs.empty()) return false;
      const int out = link.outputs.front().axis;
      if (std::ranges::any_of(link.outputs, [&](OperandAxis position) { return position.axis != out; })) return false;
      if (out_rank_ == rank_) {
        for (const OperandAxis position : link.inputs)
          if (position.axis + rank_ - view_.input(position.operand).rank() != out) return false;
      } else {
        if (link.kind != AxisKind::kPreserved || link.inputs.size() != 1 || link.outputs.size() != 1) return false;
        kept_.emplace_back(link.inputs.front().axis, out);
      }
      if (link.kind == AxisKind::kMixed) cared_for.insert(out);
    }
    if (pads_ >= 0 && named_.empty()) {
      const auto pads = view_.ints(pads_);
      return !is_elementwise() && out_rank_ == rank_ && pads && pads->size() == 2 * order_.size();
    }
    if (is_elementwise()) return cared_for.empty() && out_rank_ == rank_;
    if (cared_for != named_) return false;
    std::ranges::sort(kept_, {}, &std::pair<int, int>::second);
    return out_rank_ == rank_ || static_cast<int>(kept_.size()) == std::min(rank_, out_rank_);
  }

  NodeInOrder write() {
    if (out_rank_ <= rank_) {  // where the axes are that are named; new ones stay where they are
      const auto move = [&](std::vector<int64_t>& axes) {
        for (int64_t& axis : axes) axis = order_[static_cast<size_t>(axis)];
      };
      for (auto& [operand, axes] : result_.lists) move(axes);
      for (ir::Attribute& attribute : result_.attributes) {
        const auto* list = attribute.as<std::vector<int64_t>>();
        std::vector<int64_t> axes = list ? *list : std::vector<int64_t>{*attribute.as<int64_t>()};
        move(axes);
        attribute = list ? ir::Attribute(attribute.name, axes) : ir::Attribute(attribute.name, axes.front());
      }
    }
    if (pads_ >= 0 && named_.empty()) move_pads();
    result_.results.assign(view_.node().outputs().size(), out_rank_ == rank_ ? order_ : order_of_kept());
    return std::move(result_);
  }

  void move_pads() {
    const auto pads = view_.ints(pads_);
    std::vector<int64_t> moved(pads->size());
    const auto rank = static_cast<size_t>(rank_);
    for (size_t axis = 0; axis < rank; ++axis) {
      const auto to = static_cast<size_t>(order_[axis]);
      moved[to] = (*pads)[axis];
      moved[rank + to] = (*pads)[rank + axis];
    }
    result_.lists.emplace_back(pads_, std::move(moved));
  }

  // Of the axes that are kept, those of the other tensor stand in their own order.
  Order order_of_kept() const {
    std::vector<int64_t> before;
    std::vector<int> positions;  // in the result
    for (const auto& [in, out] : kept_) {
      before.push_back(order_[static_cast<size_t>(in)]);
      positions.push_back(out);
    }
    Order order(static_cast<size_t>(out_rank_));
    for (int axis = 0; axis < out_rank_; ++axis) order[static_cast<size_t>(axis)] = axis;
    for (size_t k = 0; k < before.size(); ++k) {
      const auto at = std::ranges::count_if(before, [&](int64_t other) { return other < before[k]; });
      order[static_cast<size_t>(positions[k])] = positions[static_cast<size_t>(at)];
    }
    return order;
  }

  ops::NodeView& view_;
  const Order& order_;
  int rank_, out_rank_ = -1, pads_ = -1;
  const ops::Operator* op_;
  AxesMap map_;
  std::set<int> named_;
  std::vector<std::pair<int, int>> kept_;  // where the rank changes: axes of the operand and of the result
  NodeInOrder result_;
};

}  // namespace

bool is_in_place(const Order& order) { return std::ranges::is_sorted(order); }

Order inverse(const Order& order) {
  Order back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return back;
}

Order composed(const Order& first, const Order& second) {
  Order both;
  for (const int64_t axis : second) both.push_back(first[static_cast<size_t>(axis)]);
  return both;
}

std::optional<NodeInOrder> node_in_order(ops::NodeView& view, const Order& order) {
  return Reordering(view, order).run();
}

}  // namespace thaw::optimizing
