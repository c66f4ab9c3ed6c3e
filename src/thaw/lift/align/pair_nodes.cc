#include "thaw/lift/align/pair_nodes.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

using ops::Role;

// A value of a side stands for a numbered one: as it is, or but for its shape.
struct Link {
  size_t id;
  bool reshaped;
};

struct NumberedValue {
  const ir::Value* stands_in[2];  // on each side, the value that is it
  bool reshaped[2];
};

bool same_operators(const ir::Graph* a, const ir::Graph* b) {
  return std::ranges::equal(a->nodes(), b->nodes(), {}, &ir::Node::op_type, &ir::Node::op_type);
}

class PairSearch {
 public:
  PairSearch(const PairSide& first, const PairSide& second) : sides_{&first, &second} {
    for (int side = 0; side < 2; ++side) {
      for (ir::Node* node : sides_[side]->nodes) {
        optional_[side].push_back(optional_node(*node, [&](const ir::Value* value) { return sizes_of(side, value); }));
      }
    }
  }

  std::optional<Pairing> run() {
    if (!add_inputs()) return std::nullopt;
    const size_t n = sides_[0]->nodes.size(), m = sides_[1]->nodes.size();
    const size_t most_steps = 64 * (n + m) + 4096;
    int next = 0;  // what is tried next where we stand
    for (size_t step = 0; step < most_steps; ++step) {
      if (at_[0] == n && at_[1] == m) {
        if (auto outputs = pair_outputs()) return Pairing{std::move(pairs_), std::move(*outputs)};
        next = kChoices;
      }
      while (next < kChoices && !advance(next)) ++next;
      if (next < kChoices) {
        next = 0;
        continue;
      }
      if (choices_.empty()) return std::nullopt;
      next = choices_.back() + 1;
      take_back();
    }
    return std::nullopt;
  }

 private:
  // A pair; one that a side lacks, mostly the first; one that the other lacks; one that is written once for two in the
  // first; in the second.
  static constexpr int kChoices = 5;

  std::optional<Sizes> sizes_of(int side, const ir::Value* value) const {
    return value ? sides_[side]->sizes(value) : std::nullopt;
  }

  bool add_inputs() {
    for (const ir::Value* input : sides_[0]->graph->inputs()) {
      const auto& others = sides_[1]->graph->inputs();
      const auto other = std::ranges::find_if(others, [&](const ir::Value* o) { return o->name() == input->name(); });
      if (other == others.end()) return false;
      add_value(input, *other);
    }
    return true;
  }

  void link(int side, const ir::Value* value, size_t id, bool reshaped) {
    links_[side][value].push_back({id, reshaped});
    linked_.emplace_back(side, value);
  }

  void add_value(const ir::Value* first, const ir::Value* second, bool first_reshaped = false,
                 bool second_reshaped = false) {
    const size_t id = values_.size();
    values_.push_back({{first, second}, {first_reshaped, second_reshaped}});
    if (first) link(0, first, id, first_reshaped);
    if (second) link(1, second, id, second_reshaped);
  }

  // The last value that both may be. Where one of them has another shape, it must be read by what does not mind.
  std::optional<size_t> common(const ir::Value* first, const ir::Value* second, bool shape_matters) const {
    const auto a = links_[0].find(first), b = links_[1].find(second);
    if (a == links_[0].end() || b == links_[1].end()) return std::nullopt;
    std::optional<size_t> last;
    for (const Link& x : a->second)
      for (const Link& y : b->second)
        if (x.id == y.id && (!shape_matters || (!x.reshaped && !y.reshaped)) && (!last || x.id > *last)) last = x.id;
    return last;
  }

  // A Reshape to sizes that are all written down gives the same of whatever holds the same elements.
  bool minds_shape(int side, const ir::Node& node) const {
    const ops::Operator* op = ops::registry().find(node);
    if (!op || !op->moves_elements() || node.inputs().size() != 2 || op->operands[1] != Role::kShape) return true;
    const auto in = sizes_of(side, node.input(0)), out = sizes_of(side, node.output(0));
    const ir::Tensor* target = constant_operand(node, 1);
    return !target || !in || !out || !hold_as_many(*in, *out) || std::ranges::count(target->to_int64(), 0) > 0;
  }

  static bool same_constant(const ir::Node& node, int i, const ir::Tensor& a, const ir::Tensor& b) {
    const Role role = ops::role_of(node, i);
    if (a.data_type != b.data_type || a.dims.size() != b.dims.size()) return false;
    if (role == Role::kAxes || role == Role::kWeight || role == Role::kBias || role == Role::kSteps)
      return same_tensor(a, b);
    return true;
  }

  std::optional<NodePair> pair_of(ir::Node* first, ir::Node* second) const {
    if (first->op_type() != second->op_type() || first->domain() != second->domain()) return std::nullopt;
    if (first->inputs().size() != second->inputs().size() || first->outputs().size() != second->outputs().size() ||
        first->attributes().size() != second->attributes().size())
      return std::nullopt;
    for (const ir::Attribute& attribute : first->attributes()) {
      const ir::Attribute* other = second->attribute(attribute.name);
      if (!other || !(holds_graph(attribute) || same_attribute(attribute, *other))) return std::nullopt;
    }
    if (!std::ranges::equal(first->subgraphs(), second->subgraphs(), same_operators)) return std::nullopt;
    const auto out = sizes_of(0, first->output(0)), other_out = sizes_of(1, second->output(0));
    if (out && other_out && out->size() != other_out->size()) return std::nullopt;
    NodePair pair{.node = {first, second}, .first_result = values_.size()};
    for (int i = 0; i < static_cast<int>(first->inputs().size()); ++i) {
      const ir::Value *a = first->input(i), *b = second->input(i);
      if ((a == nullptr) != (b == nullptr)) return std::nullopt;
      const ir::Tensor *x = constant_operand(*first, i), *y = constant_operand(*second, i);
      if ((x == nullptr) != (y == nullptr) || (x && !same_constant(*first, i, *x, *y))) return std::nullopt;
      pair.reads.emplace_back();
      if (!a || x) continue;
      pair.reads.back() = common(a, b, i > 0 || minds_shape(0, *first) || minds_shape(1, *second));
      if (!pair.reads.back()) return std::nullopt;
    }
    return pair;
  }

  bool add_pair() {
    if (at_[0] == sides_[0]->nodes.size() || at_[1] == sides_[1]->nodes.size()) return false;
    ir::Node *first = sides_[0]->nodes[at_[0]], *second = sides_[1]->nodes[at_[1]];
    auto pair = pair_of(first, second);
    if (!pair) return false;
    begin(0, 1, 1);
    for (int i = 0; i < static_cast<int>(first->outputs().size()); ++i) add_value(first->output(i), second->output(i));
    paired_[0][first] = paired_[1][second] = pairs_.size();
    pairs_.push_back(std::move(*pair));
    ++at_[0];
    ++at_[1];
    return true;
  }

  // The next node of a side, for which an earlier one stands on the other side, where it is the same but for constants.
  bool add_twin(int side, int choice) {
    const int other = 1 - side;
    if (at_[side] == sides_[side]->nodes.size()) return false;
    ir::Node* node = sides_[side]->nodes[at_[side]];
    if (!node->subgraphs().empty()) return false;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const auto known = links_[side].find(node->input(i));
      if (known == links_[side].end()) continue;
      for (const Link& link : known->second) {
        const ir::Value* there = values_[link.id].stands_in[other];
        if (!there || link.reshaped || values_[link.id].reshaped[other]) continue;
        for (const ir::Use& use : there->uses())
          if (use.index == i && stands_for_both(use.node, node, side, choice)) return true;
      }
      return false;  // the others of its operands would name the same nodes
    }
    return false;
  }

  bool stands_for_both(ir::Node* single, ir::Node* node, int side, int choice) {
    const int other = 1 - side;
    const auto before = single ? paired_[other].find(single) : paired_[other].end();
    if (before == paired_[other].end()) return false;
    auto pair = side == 0 ? pair_of(node, single) : pair_of(single, node);
    if (!pair) return false;
    pair->node[other] = nullptr;
    pair->twin = before->second;
    begin(choice, side == 0 ? 1 : 0, side == 1 ? 1 : 0);
    for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i) {
      const ir::Value *here = node->output(i), *there = single->output(i);
      side == 0 ? add_value(here, there) : add_value(there, here);
    }
    pairs_.push_back(std::move(*pair));
    ++at_[side];
    return true;
  }

  // The next node of a side, which the other side lacks.
  bool add_left_out(int side, int choice) {
    const int lacking = 1 - side;
    if (at_[side] == sides_[side]->nodes.size()) return false;
    const auto& optional = optional_[side][at_[side]];
    if (!optional) return false;
    const auto known = links_[side].find(optional->node->input(optional->data));
    if (known == links_[side].end()) return false;
    // What is reshaped here is something else.
    const Link* data = nullptr;
    for (const Link& link : known->second)
      if (!link.reshaped && values_[link.id].stands_in[lacking]) data = &link;
    if (!data) return false;
    const NumberedValue& value = values_[data->id];
    // Sizes of what stands there; of what is reshaped, they are not known.
    const auto sizes = value.reshaped[lacking] ? std::optional<Sizes>() : sizes_of(lacking, value.stands_in[lacking]);
    if (!value.reshaped[lacking] && (!sizes || !neutral_sizes(*optional, *sizes))) return false;
    const bool reshaped = value.reshaped[lacking] || !optional->joins.empty();
    NodePair pair{.optional = optional, .first_result = values_.size()};
    pair.reads.resize(static_cast<size_t>(optional->data) + 1);
    pair.reads.back() = data->id;
    pair.node[side] = optional->node;
    begin(choice, side == 0 ? 1 : 0, side == 1 ? 1 : 0);
    const ir::Value *there = value.stands_in[lacking], *here = optional->node->output(0);
    if (side == 1) {
      add_value(there, here, reshaped, false);
    } else {
      add_value(here, there, false, reshaped);
    }
    pairs_.push_back(std::move(pair));
    ++at_[side];
    return true;
  }

  // The axes of what stands next on a side and may be left out.
  std::optional<std::vector<int64_t>> axes_of_next(int side) const {
    if (at_[side] == sides_[side]->nodes.size() || !optional_[side][at_[side]]) return std::nullopt;
    const ir::Node& node = *sides_[side]->nodes[at_[side]];
    for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i)
      if (ops::role_of(node, i) == Role::kAxes)
        if (const ir::Tensor* axes = constant_operand(node, i)) return axes->to_int64();
    return std::nullopt;
  }

  // Which of two nodes that both may be left out comes first, where the sides have one each: in the order of their axes,
  // so that a third trace that has both of them finds them so.
  bool advance(int choice) {
    if (choice == 0) return add_pair();
    if (choice > 2) return add_twin(choice == 3 ? 1 : 0, choice);
    const auto first = axes_of_next(0), second = axes_of_next(1);
    const bool turned = first && second && *first < *second;
    return add_left_out((choice == 1) != turned ? 1 : 0, choice);
  }

  void begin(int choice, int first, int second) {
    choices_.push_back(choice);
    steps_.push_back({first, second});
    marks_.push_back({values_.size(), linked_.size()});
  }

  void take_back() {
    for (; linked_.size() > marks_.back()[1]; linked_.pop_back()) {
      auto& links = links_[linked_.back().first];
      const auto found = links.find(linked_.back().second);
      found->second.pop_back();
      if (found->second.empty()) links.erase(found);
    }
    values_.resize(marks_.back()[0]);
    if (pairs_.back().node[0] && pairs_.back().node[1])
      for (int side = 0; side < 2; ++side) paired_[side].erase(pairs_.back().node[side]);
    pairs_.pop_back();
    choices_.pop_back();
    marks_.pop_back();
    at_[0] -= static_cast<size_t>(steps_.back()[0]);
    at_[1] -= static_cast<size_t>(steps_.back()[1]);
    steps_.pop_back();
  }

  std::optional<std::vector<std::optional<size_t>>> pair_outputs() const {
    const auto &first = sides_[0]->graph->outputs(), &second = sides_[1]->graph->outputs();
    if (first.size() != second.size()) return std::nullopt;
    std::vector<std::optional<size_t>> outputs;
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i]->constant() && second[i]->constant()) {
        outputs.emplace_back();
        continue;
      }
      const auto id = common(first[i], second[i], true);
      if (!id) return std::nullopt;
      outputs.push_back(id);
    }
    return outputs;
  }

  std::array<const PairSide*, 2> sides_;
  std::vector<std::optional<OptionalNode>> optional_[2];
  size_t at_[2] = {0, 0};
  std::vector<NumberedValue> values_;
  std::unordered_map<const ir::Value*, std::vector<Link>> links_[2];
  std::vector<std::pair<int, const ir::Value*>> linked_;  // in the order in which they were linked
  std::vector<NodePair> pairs_;
  std::unordered_map<const ir::Node*, size_t> paired_[2];  // in which pair a node has another beside it
  std::vector<int> choices_;                               // that led here
  std::vector<std::array<int, 2>> steps_;                  // how far each went on either side
  std::vector<std::array<size_t, 2>> marks_;               // what there was before each: values, links
};

}  // namespace

std::optional<Pairing> pair_nodes(const PairSide& first, const PairSide& second) {
  return PairSearch(first, second).run();
}

}  // namespace thaw::lifting
