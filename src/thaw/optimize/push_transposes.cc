// Transposes moved through what works along any axes alike, where fewer are left then.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/infer/facts_view.h"
#include "thaw/optimize/node_in_order.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kNominalSize = 64;           // of a free size, to compare work by
constexpr size_t kMostOfPart = 4096;           // of one part
constexpr uint64_t kSmall = 1024;              // bytes of a constant that may be stored twice
constexpr uint64_t kMost = uint64_t{1} << 20;  // and that are moved at once

// A node that may take its operands in another order.
struct Through {
  ir::Node* node = nullptr;
  Order order;
  NodeInOrder moved;
  std::vector<ir::Value*> foreign;  // operands that would have to be transposed
  bool stays = false;               // as it is: nothing would be won
  size_t part = 0;
};

// A value that is a Transpose of another.
struct Transposed {
  Order order;
  ir::Node* transpose = nullptr;  // that makes it, or
  Through* through = nullptr;
};

// Transposes, and the elements that they move.
struct Cost {
  int64_t count = 0;
  double elements = 0;
};

// Whether a constant is small, or nothing else reads it and it is not large, so that nothing is stored twice.
bool can_transpose(const ir::Tensor& tensor, const ir::Value& value) {
  if (tensor.data_type == ir::DataType::kString) return false;
  const uint64_t bytes = tensor.num_bytes();
  const auto elements = static_cast<uint64_t>(tensor.num_elements());
  if (elements == 0 || bytes == 0 || bytes % elements != 0) return false;  // below 8 bits, packed
  return elements == 1 || bytes <= kSmall || (bytes <= kMost && is_read_once(value));
}

// Of one that can be; axes of 1 stand before those that it has where the order has more. Without a name.
ir::Tensor transposed_constant(const ir::Tensor& tensor, const Order& order) {
  const size_t rank = order.size(), added = rank - tensor.dims.size();
  std::vector<int64_t> before(added, 1), dims;
  before.insert(before.end(), tensor.dims.begin(), tensor.dims.end());
  std::vector<int64_t> strides(rank, 1);
  for (size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * before[axis];
  for (const int64_t axis : order) dims.push_back(before[static_cast<size_t>(axis)]);
  const auto bytes = tensor.bytes();
  const auto count = static_cast<size_t>(tensor.num_elements()), size = bytes.size() / count;
  std::vector<std::byte> moved(bytes.size());
  std::vector<int64_t> position(rank, 0);
  for (size_t to = 0; to < count; ++to) {
    int64_t from = 0;
    for (size_t axis = 0; axis < rank; ++axis) from += position[axis] * strides[static_cast<size_t>(order[axis])];
    std::memcpy(moved.data() + to * size, bytes.data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++position[axis] < dims[axis]) break;
      position[axis] = 0;
    }
  }
  return ir::Tensor::from_bytes({}, tensor.data_type, std::move(dims), std::move(moved));
}

std::optional<Order> order_of(const ir::Node& node, const infer::Inference& facts) {
  if (node.op_type() != "Transpose" || !node.domain().empty() || !node.input(0) || !node.output(0)) return std::nullopt;
  const int rank = facts.fact(node.input(0)).rank();
  if (rank < 0) return std::nullopt;
  const auto given = node.attribute_ints("perm");
  Order order(given.begin(), given.end());
  if (given.empty()) {
    order.resize(static_cast<size_t>(rank));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  Order sorted = order;
  std::ranges::sort(sorted);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (static_cast<int>(sorted.size()) != rank || sorted[static_cast<size_t>(axis)] != axis) return std::nullopt;
  return order;
}

class Pushing {
 public:
  Pushing(ir::Model& model, ir::Graph& graph, const infer::Inference& facts, rewrite::Changes& changes)
      : model_(model), graph_(graph), facts_(facts), changes_(changes) {}

  int run() {
    find();
    if (through_.empty()) return 0;
    for (auto at = through_.rbegin(); at != through_.rend(); ++at)
      if (!pays(**at)) (*at)->stays = true;
    int count = 0;
    for (std::vector<Through*>& part : parts())
      if (part.size() <= kMostOfPart && is_less(part)) {
        write(part);
        ++count;
      }
    return count;
  }

 private:
  void find() {
    for (ir::Node* node : graph_.nodes()) {
      if (const auto order = order_of(*node, facts_)) {
        if (!is_in_place(*order)) transposed_[node->output(0)] = {*order, node, nullptr};
        continue;
      }
      if (transposed_.empty()) continue;
      const auto inputs = node->inputs();
      const auto first =
          std::find_if(inputs.begin(), inputs.end(), [&](ir::Value* v) { return transposed_.contains(v); });
      if (first != inputs.end()) look_at(*node, transposed_[*first].order);
    }
  }

  void look_at(ir::Node& node, const Order& order) {
    if (std::ranges::count(node.outputs(), nullptr) > 0) return;
    infer::NodeFacts view(facts_.result(), model_, node);
    auto moved = node_in_order(view, order);
    if (!moved) return;
    Through through{.node = &node, .order = order, .moved = std::move(*moved)};
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      if (!through.moved.takes[static_cast<size_t>(i)]) continue;
      ir::Value* operand = node.input(i);
      if (const auto known = transposed_.find(operand); known != transposed_.end() && known->second.order == order)
        continue;
      if (const ir::Tensor* tensor = constant_of(operand)) {
        if (!can_transpose(*tensor, *operand)) return;
      } else if (facts_.fact(operand).rank() != static_cast<int>(order.size())) {
        return;
      } else {
        through.foreign.push_back(operand);
      }
    }
    through_.push_back(std::make_unique<Through>(std::move(through)));
    Through* made = through_.back().get();
    by_node_[&node] = made;
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (!is_in_place(made->moved.results[i]))
        transposed_[node.outputs()[i]] = {made->moved.results[i], nullptr, made};
  }

  const Through* moving(const ir::Node* node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() || found->second->stays ? nullptr : found->second;
  }

  // Whether a node takes the value in the other order.
  bool takes(const ir::Use& use, const Order& order) const {
    const Through* through = moving(use.node);
    return through && through->moved.takes[static_cast<size_t>(use.index)] && through->order == order;
  }

  // A Transpose of a moving node's output, which becomes one of its output then.
  std::optional<Order> end_of(const ir::Use& use, const Order& order) const {
    if (use.node->graph() != &graph_) return std::nullopt;
    const auto second = order_of(*use.node, facts_);
    return second && second->size() == order.size() ? std::optional(composed(order, *second)) : std::nullopt;
  }

  // Whether anything reads the value as it is.
  bool is_needed(const ir::Value& value, const Order& order, bool is_result) const {
    if (value.is_output() || !value.graph()->returned_by(&value).empty()) return true;
    return std::ranges::any_of(
        value.uses(), [&](const ir::Use& use) { return !takes(use, order) && !(is_result && end_of(use, order)); });
  }

  double elements(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    double count = 1;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const dim::Dim size = fact.dim(axis);
      if (size.is_constant()) {
        count *= static_cast<double>(*size.constant());
        continue;
      }
      dim::Assignment nominal;
      if (size.is_symbolic())
        for (const int symbol : dim::symbols_of(size)) nominal[symbol] = kNominalSize;
      count *=
          static_cast<double>(size.is_symbolic() ? dim::evaluate(size, nominal).value_or(kNominalSize) : kNominalSize);
    }
    return count;
  }

  void add(Cost& cost, const ir::Value* value) const {
    ++cost.count;
    cost.elements += elements(value);
  }

  const Transposed* transposed(const ir::Value* value) const {
    const auto found = transposed_.find(value);
    return found == transposed_.end() ? nullptr : &found->second;
  }

  // What a value is made of that the node takes in the other order, unless what makes it stays.
  const Transposed* source_of(const Through& through, int i) const {
    if (!through.moved.takes[static_cast<size_t>(i)]) return nullptr;
    const Transposed* source = transposed(through.node->input(i));
    return source && source->order == through.order && !(source->through && source->through->stays) ? source : nullptr;
  }

  // Whether a node at the end of its part, which nothing follows that moves too, saves a Transpose there.
  bool pays(Through& through) {
    int64_t saved = 0;
    for (size_t i = 0; i < through.node->outputs().size(); ++i) {
      const ir::Value& value = *through.node->outputs()[i];
      const Order& order = through.moved.results[i];
      if (is_in_place(order)) continue;
      for (const ir::Use& use : value.uses()) {
        if (takes(use, order)) return true;
        if (const auto both = end_of(use, order); both && is_in_place(*both)) ++saved;
      }
      if (is_needed(value, order, true)) --saved;
    }
    saved -= static_cast<int64_t>(through.foreign.size());
    through.stays = true;  // for a look at what its operands would be then
    std::vector<const ir::Value*> seen;
    for (int i = 0; i < static_cast<int>(through.node->inputs().size()); ++i) {
      const ir::Value* operand = through.node->input(i);
      if (!source_of(through, i) || std::ranges::find(seen, operand) != seen.end()) continue;
      seen.push_back(operand);
      const bool others = std::ranges::any_of(operand->uses(), [&](const ir::Use& use) {
        return use.node != through.node && !takes(use, through.order) && !end_of(use, through.order);
      });
      if (!others && !operand->is_output()) ++saved;
    }
    through.stays = false;
    return saved > 0;
  }

  std::vector<std::vector<Through*>> parts() {
    std::vector<size_t> root;
    const auto find = [&](size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    std::unordered_map<const ir::Value*, size_t> part_of;  // by value in the other order
    std::vector<Through*> moving;
    for (const auto& through : through_) {
      if (through->stays) continue;
      const size_t own = root.size();
      root.push_back(own);
      moving.push_back(through.get());
      const auto join = [&](const ir::Value* value) {
        const auto [at, is_new] = part_of.emplace(value, own);
        if (!is_new) root[find(own)] = find(at->second);
      };
      for (int i = 0; i < static_cast<int>(through->node->inputs().size()); ++i)
        if (source_of(*through, i)) join(through->node->input(i));
      for (const ir::Value* value : through->node->outputs()) join(value);
    }
    std::map<size_t, std::vector<Through*>> parts;
    for (size_t i = 0; i < moving.size(); ++i) parts[find(i)].push_back(moving[i]);
    std::vector<std::vector<Through*>> all;
    for (auto& [at, part] : parts) all.push_back(std::move(part));
    return all;
  }

  bool is_less(const std::vector<Through*>& part) {
    Cost before, after;
    std::map<std::pair<const ir::Value*, Order>, bool> seen;
    for (const Through* through : part) {
      for (int i = 0; i < static_cast<int>(through->node->inputs().size()); ++i) {
        const ir::Value* operand = through->node->input(i);
        if (!through->moved.takes[static_cast<size_t>(i)]) continue;
        const Transposed* source = source_of(*through, i);
        if ((source && source->through) || (!source && constant_of(operand))) continue;
        if (!seen.emplace(std::pair(operand, through->order), true).second) continue;
        if (!facts_.fact(operand).has_rank()) return false;
        if (source) add(before, operand);
        if (!source || is_needed(*operand, through->order, false)) add(after, operand);
      }
      for (size_t i = 0; i < through->node->outputs().size(); ++i) {
        const ir::Value& value = *through->node->outputs()[i];
        const Order& order = through->moved.results[i];
        if (is_in_place(order)) continue;
        if (is_needed(value, order, true)) add(after, &value);
        for (const ir::Use& use : value.uses()) {
          const auto both = end_of(use, order);
          if (!both) continue;
          add(before, &value);
          if (!is_in_place(*both)) add(after, &value);
        }
      }
    }
    before_ = before.count, after_ = after.count;
    return after.count < before.count && after.elements <= before.elements;
  }

  // The operand as it is before it is transposed.
  ir::Value* taken(const Through& through, int i, const ops::Emit& at) {
    ir::Value* operand = through.node->input(i);
    if (!through.moved.takes[static_cast<size_t>(i)]) return operand;
    if (const Transposed* source = source_of(through, i))
      return source->transpose ? source->transpose->input(0) : now_.at(operand);
    if (const ir::Tensor* tensor = constant_of(operand)) {
      const size_t rank = through.order.size();
      return tensor->num_elements() == 1 && tensor->dims.size() <= rank
                 ? operand
                 : at.writer().constant(transposed_constant(*tensor, inverse(through.order)));
    }
    ir::Value*& made = transposed_values_[{operand, through.order}];
    if (!made) made = at.transpose(operand, inverse(through.order));
    return made;
  }

  void write(const std::vector<Through*>& part) {
    rewrite::Emitter emitter(model_, {});
    changes_.made.push_back({.kind = "move Transposes",
                             .location = part.front()->node->describe(),
                             .replaced = {{fmt::format("{} Transpose{}", before_, before_ == 1 ? "" : "s"),
                                           after_ == 0 ? "none" : std::to_string(after_)}}});
    for (const Through* through : part) {
      ir::Node* node = through->node;
      emitter.set_origin(rewrite::name_of(*node));
      const ops::Emit at = emitter.before(node);
      std::vector<ir::Value*> inputs, outputs;
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
        inputs.push_back(node->input(i) ? taken(*through, i, at) : nullptr);
      for (const auto& [operand, list] : through->moved.lists)
        inputs[static_cast<size_t>(operand)] = listed(*node->input(operand), list, at);
      for (ir::Value* old : node->outputs()) {
        outputs.push_back(graph_.add_value(graph_.unique_name(old->name() + "_moved")));
        now_[old] = outputs.back();
      }
      ir::Node* made = rewrite::copy_node(*node, graph_, std::move(inputs), outputs,
                                          graph_.unique_name(rewrite::name_of(*node) + "_moved"), node);
      for (const ir::Attribute& attribute : through->moved.attributes) made->set_attribute(attribute);
    }
    for (const Through* through : part) read_instead(*through, emitter);
    for (auto at = part.rbegin(); at != part.rend(); ++at) graph_.remove_node((*at)->node);
  }

  // In the shape and type that the operand had: CumSum takes one axis as a scalar, and Slice's axes have its bounds' type.
  static ir::Value* listed(const ir::Value& before, const std::vector<int64_t>& list, const ops::Emit& at) {
    ir::Value* wide = before.constant()->dims.empty() ? at.integer(list.front()) : at.list(list);
    return at.cast(wide, before.constant()->data_type);
  }

  // What reads a result of the node reads it as it is now, or transposed as it was.
  void read_instead(const Through& through, rewrite::Emitter& emitter) {
    const ops::Emit at = emitter.before(through.node);
    for (size_t i = 0; i < through.node->outputs().size(); ++i) {
      ir::Value* old = through.node->outputs()[i];
      const Order& order = through.moved.results[i];
      ir::Value* now = now_.at(old);
      if (is_in_place(order)) {
        rewrite::replace_value(*old, *now);
        continue;
      }
      const bool is_needed_as_it_was = is_needed(*old, order, true);
      std::vector<std::pair<ir::Node*, Order>> ends;
      for (const ir::Use& use : old->uses())
        if (auto both = end_of(use, order)) ends.emplace_back(use.node, std::move(*both));
      for (const auto& [end, both] : ends) {
        ir::Value* result = is_in_place(both) ? now : emitter.before(end).transpose(now, both);
        if (rewrite::can_replace(*end->output(0), *result)) {
          rewrite::replace_value(*end->output(0), *result);
          graph_.remove_node(end);
        } else {
          rewrite::replace_node(end, {result});
        }
      }
      if (is_needed_as_it_was) rewrite::replace_value(*old, *at.transpose(now, order));
    }
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const infer::Inference& facts_;
  rewrite::Changes& changes_;
  std::vector<std::unique_ptr<Through>> through_;  // in the order of the nodes
  std::unordered_map<const ir::Node*, Through*> by_node_;
  std::unordered_map<const ir::Value*, Transposed> transposed_;
  std::unordered_map<const ir::Value*, ir::Value*> now_;
  std::map<std::pair<const ir::Value*, Order>, ir::Value*> transposed_values_;
  int64_t before_ = 0, after_ = 0;
};

int push_in(ir::Model& model, ir::Graph& graph, const infer::Inference& facts, rewrite::Changes& changes) {
  int count = Pushing(model, graph, facts, changes).run();
  for (ir::Node* node : graph.nodes())
    for (ir::Graph* inner : node->subgraphs()) count += push_in(model, *inner, facts, changes);
  return count;
}

}  // namespace

int push_transposes(Context& context) {
  const infer::Inference& facts = context.facts();
  return rewrite::edit_as_one(context,
                              [&] { return push_in(context.model, *context.model.graph, facts, context.changes); });
}

}  // namespace thaw::optimizing
