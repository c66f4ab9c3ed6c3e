#include "thaw/lift/loop/mask_padding.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::lifting {
namespace {

struct Refusal {
  std::string why;
};

class Masking {
 public:
  Masking(ir::Model& body, const std::string& length, ir::Value* mask)
      : model_(body), graph_(*body.graph), emitter_(body, "window"), mask_(mask), facts_(infer::infer(body, scope_)) {
    const auto symbol = scope_.find(length);
    if (symbol) length_ = *symbol;
  }

  void run(std::span<const int64_t> output_axes) {
    // All is looked at before anything is changed: facts are of the model as it was.
    std::vector<Meeting> meetings;
    for_each_node([&](ir::Node& node) {
      if (auto meeting = look_at(node)) meetings.push_back(std::move(*meeting));
    });
    for (const Meeting& meeting : meetings) {
      try {
        for (const ops::AxisLink& link : meeting.map.links) mask_link(meeting, link);
      } catch (const Refusal& refusal) {
        throw Refusal{fmt::format("{} {}", meeting.node->describe(), refusal.why)};
      }
    }
    for (size_t i = 0; i < output_axes.size(); ++i) {
      const ir::Value* output = graph_.outputs()[i];
      if (window_axes(output) != std::vector{output_axes[i]})
        throw Refusal{fmt::format("'{}' does not have a row for each position", output->name())};
    }
  }

 private:
  // A node that the window's axis comes to, with what it reads and what it does with axes.
  struct Meeting {
    ir::Node* node;
    std::vector<const ir::Value*> operands;
    ops::AxesMap map;
  };

  template <typename F>
  void for_each_node(F f) {
    for (ir::Node* node : graph_.nodes()) {
      try {
        f(*node);
      } catch (const Refusal& refusal) {
        throw Refusal{fmt::format("{} {}", node->describe(), refusal.why)};
      }
    }
  }

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

  // The mask to broadcast along an axis of a tensor of that rank: [1, length] -> [1, … length …].
  ir::Value* mask_for(const ops::Emit& e, int64_t axis, int64_t rank) const {
    ir::Value* mask = axis == 0 ? e.squeeze(mask_, {0}) : mask_;
    std::vector<int64_t> axes;
    for (int64_t other = 1; other < rank; ++other)
      if (other != axis) axes.push_back(other);
    return e.unsqueeze(mask, axes);
  }

  // The node's operand, x as it was, with another number where there is padding.
  void fill(ir::Node& node, const ir::Value* x, const ops::OperandAxis& place, double number) {
    const ir::DataType type = fact(x).dtype;
    if (!ir::is_floating(type)) throw Refusal{"takes integers along the window"};
    const ops::Emit e = emitter_.before(&node);
    ir::Value* mask = mask_for(e, place.axis, fact(x).rank());
    node.set_input(place.operand, e.emit("Where", {mask, node.input(place.operand), e.scalar(number, type)}));
  }
  // Lower than what any mask of the model's own adds: a window that is masked as a whole goes by its own positions alone, of
  // which there is one at least.
  static constexpr double kLowest = -std::numeric_limits<double>::infinity();

  std::optional<Meeting> look_at(ir::Node& node) {
    for (const ir::Value* output : node.outputs()) check_shape(output);
    bool any = false;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* input = node.input(i);
      const ops::Role role = ops::role_of(node, i);
      if (role == ops::Role::kData && is_length_size(input) && ir::is_floating(fact(node.output(0)).dtype))
        throw Refusal{"computes with the number of positions"};
      any |= !ops::is_unread(role) && !window_axes(input).empty();
    }
    if (!any) return std::nullopt;
    infer::NodeFacts view(facts_, model_, node);
    auto map = ops::axes_of(view);
    if (!map) refuse_mixing();
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      for (const int64_t axis : window_axes(node.input(i)))
        if (!map->of_input(i, static_cast<int>(axis))) refuse_mixing();
    return Meeting{&node, {node.inputs().begin(), node.inputs().end()}, std::move(*map)};
  }

  [[noreturn]] static void refuse_mixing() {
    throw Refusal{"mixes the positions of a window in a way that Thaw cannot mask"};
  }

  // Positions that stay apart give padding for padding; of those that meet, padding must have no part.
  void mask_link(const Meeting& meeting, const ops::AxisLink& link) {
    ir::Node& node = *meeting.node;
    const auto value = [&](const ops::OperandAxis& place) {
      return meeting.operands[static_cast<size_t>(place.operand)];
    };
    const auto meets = [&](const ops::OperandAxis& place) { return has_axis(value(place), place.axis); };
    if (link.kind == ops::AxisKind::kPreserved || std::ranges::none_of(link.inputs, meets)) return;
    const ops::OperandAxis& place = link.inputs.front();
    const ir::Value* x = value(place);
    switch (link.combine) {
      case ops::Combine::kSum:
      case ops::Combine::kMean:
        // One factor of a product is enough.
        if (std::ranges::any_of(link.inputs, [&](const auto& at) {
              return zeroed_.contains({value(at), static_cast<int64_t>(at.axis)});
            }))
          return;
        fill(node, x, place, 0);
        if (link.combine == ops::Combine::kMean) rescale(node, fact(x).dtype);
        return;
      case ops::Combine::kMaximum:
      case ops::Combine::kLogSoftmax:
        return fill(node, x, place, kLowest);
      case ops::Combine::kMinimum:
        return fill(node, x, place, -kLowest);
      case ops::Combine::kSoftmax:
        fill(node, x, place, kLowest);
        zeroed_.insert({node.output(0), place.axis});
        return;
      case ops::Combine::kOther:
        if (ops::registry().find(node)->moves_elements())
          throw Refusal{"puts the positions of a window in another order, or takes some away"};
        refuse_mixing();
    }
  }

  // A mean over the padded window becomes that over the window: times padded length, over length.
  void rescale(ir::Node& node, ir::DataType type) {
    const ops::Emit e = emitter_.after(&node);
    ir::Value* mask = e.squeeze(mask_, {0});
    ir::Value* count = e.reduce("ReduceSum", e.cast(mask, type), {0}, true);
    ir::Value* factor = e.div(e.cast(e.shape(mask), type), count);
    ir::Value* mean = node.output(0);
    ir::Value* stand_in = graph_.add_value(graph_.unique_name(mean->name() + "_of_window"));
    graph_.replace_uses(mean, stand_in);
    ir::Value* scaled = e.mul(mean, factor);
    graph_.replace_uses(stand_in, scaled);
    graph_.remove_value(stand_in);
  }

  ir::Model& model_;
  ir::Graph& graph_;
  rewrite::Emitter emitter_;
  ir::Value* mask_;
  dim::Scope scope_;
  infer::Result facts_;
  dim::Dim length_;
  std::set<std::pair<const ir::Value*, int64_t>> zeroed_;  // along that axis, where there is padding
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

}  // namespace thaw::lifting
