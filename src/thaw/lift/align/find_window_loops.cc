#include "thaw/lift/align/find_window_loops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "thaw/lift/align/same_node.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostBranchNodes = 2000;      // of one branch: longer ones are no loop's body
constexpr int64_t kLargestConstant = 1 << 20;  // that may differ between branches: sizes and small tables, no weights

// A Split that cuts nothing off. A Slice would not tell that it does.
bool is_single_split(const ir::Node& node) {
  return node.op_type() == "Split" && node.outputs().size() == 1 && node.output(0) && slice_of(*node.output(0));
}
bool is_single_join(const ir::Node& node) { return joins_pieces(node) && node.inputs().size() == 1; }

// One branch beside the first: which node stands for which.
class Matching {
 public:
  // Whether the value of this branch is made as that of the first is.
  bool match(const ir::Value* first, const ir::Value* other) {
    todo_.emplace_back(first, other);
    while (!todo_.empty()) {
      const auto [a, b] = todo_.back();
      todo_.pop_back();
      if (!match_values(a, b)) return false;
    }
    return !slices.empty();
  }

  std::unordered_map<const ir::Node*, const ir::Node*> partner;  // of the first branch's nodes
  std::vector<std::pair<Slice, Slice>> slices;
  struct Constants {
    const ir::Node* node;
    int input;
    const ir::Tensor *first, *other;
  };
  std::vector<Constants> constants;

 private:
  bool match_values(const ir::Value* a, const ir::Value* b) {
    if (a == b) return true;
    if (!a || !b) return false;
    if (match_slices(*a, *b)) return true;
    ir::Node *x = a->producer(), *y = b->producer();
    if (!x || !y || x == y || a->producer_index() != b->producer_index()) return false;
    const auto [known, is_new] = partner.emplace(x, y);
    if (!is_new) return known->second == y;
    return partner.size() <= kMostBranchNodes && match_nodes(*x, *y);
  }

  bool match_slices(const ir::Value& a, const ir::Value& b) {
    const auto first = slice_of(a), other = slice_of(b);
    if (!first || !other || first->whole() != other->whole() || first->axis != other->axis || first->begin != 0 ||
        other->begin < first->end)
      return false;
    const bool known = std::any_of(slices.begin(), slices.end(), [&](const auto& pair) {
      return pair.first.node == first->node && pair.second.begin == other->begin;
    });
    if (!known) slices.emplace_back(*first, *other);
    return true;
  }

  bool match_nodes(const ir::Node& x, const ir::Node& y) {
    if (x.op_type() != y.op_type() || x.domain() != y.domain() || x.inputs().size() != y.inputs().size() ||
        x.outputs().size() != y.outputs().size() || x.attributes().size() != y.attributes().size())
      return false;
    for (const ir::Attribute& attribute : x.attributes()) {
      const ir::Attribute* other = y.attribute(attribute.name);
      if (!other || !same_attribute(attribute, *other)) return false;
    }
    for (int i = 0; i < static_cast<int>(x.inputs().size()); ++i) {
      const ir::Value *a = x.input(i), *b = y.input(i);
      const ir::Tensor *left = a ? a->constant() : nullptr, *right = b ? b->constant() : nullptr;
      if (left && right && a != b) {
        if (same_tensor(*left, *right)) continue;
        if (left->num_elements() > kLargestConstant) return false;
        constants.push_back({&x, i, left, right});
      } else {
        todo_.emplace_back(a, b);
      }
    }
    return true;
  }

  std::vector<std::pair<const ir::Value*, const ir::Value*>> todo_;
};

// Takes the next branch in; whether its slices follow those of the branches before.
bool add_branch(Unrolled& unrolled, const Matching& matching, size_t count) {
  const size_t branch = unrolled.lengths.empty() ? 1 : unrolled.lengths.size();
  if (branch == 1) {
    for (const auto& [first, other] : matching.slices) unrolled.slices.push_back(first);
    unrolled.lengths.push_back(unrolled.slices.front().length());
  }
  const int64_t begin = std::accumulate(unrolled.lengths.begin(), unrolled.lengths.end(), int64_t{0});
  const int64_t length = matching.slices.front().second.length();
  for (const auto& [first, other] : matching.slices) {
    const bool known = std::any_of(unrolled.slices.begin(), unrolled.slices.end(),
                                   [node = first.node](const Slice& slice) { return slice.node == node; });
    const bool whole = first.node->op_type() != "Split" || first.node->outputs().size() == count;
    if (!known || !whole || first.length() != unrolled.lengths.front() || other.begin != begin ||
        other.length() != length)
      return false;
    if (other.node != first.node) unrolled.repeats.insert(other.node);
  }
  unrolled.lengths.push_back(length);
  for (const auto& [first, other] : matching.partner) {
    unrolled.body.insert(first);
    unrolled.repeats.insert(other);
  }
  for (const Matching::Constants& c : matching.constants) {
    auto& tensors = unrolled.constants[{c.node, c.input}];
    tensors.resize(count, c.first);
    tensors[branch] = c.other;
  }
  return true;
}

// Many branches: each beside the first.
std::optional<Unrolled> match_branches(ir::Node& join) {
  Unrolled unrolled;
  unrolled.joins = {&join};
  const size_t count = join.inputs().size();
  for (size_t i = 1; i < count; ++i) {
    Matching matching;
    if (!matching.match(join.input(0), join.input(static_cast<int>(i)))) return std::nullopt;
    if (!add_branch(unrolled, matching, count)) return std::nullopt;
  }
  return unrolled;
}

// Single slices: the nodes that depend on one, up to a Concat of one operand.
std::unordered_set<const ir::Node*> dependents_of_single_slices(const ir::Graph& graph) {
  std::unordered_set<const ir::Node*> dependents;
  for (const ir::Node* node : graph.nodes()) {
    if (is_single_join(*node) || is_single_split(*node)) continue;
    const bool any = std::any_of(node->inputs().begin(), node->inputs().end(), [&](const ir::Value* v) {
      const ir::Node* producer = v ? v->producer() : nullptr;
      return producer && (is_single_split(*producer) || dependents.contains(producer));
    });
    if (any) dependents.insert(node);
  }
  return dependents;
}

// One branch: what lies between Splits with one output and a Concat of one operand.
std::optional<Unrolled> follow_branch(ir::Node& join, const std::unordered_set<const ir::Node*>& dependents) {
  Unrolled unrolled;
  unrolled.joins = {&join};
  std::vector<const ir::Node*> todo{&join};
  while (!todo.empty()) {
    const ir::Node* node = todo.back();
    todo.pop_back();
    for (const ir::Value* value : node->inputs()) {
      ir::Node* producer = value ? value->producer() : nullptr;
      if (!producer) continue;
      if (is_single_split(*producer)) {
        const Slice slice = *slice_of(*value);
        const bool known = std::any_of(unrolled.slices.begin(), unrolled.slices.end(),
                                       [&](const Slice& other) { return other.node == producer; });
        if (!known) unrolled.slices.push_back(slice);
      } else if (dependents.contains(producer) && unrolled.body.insert(producer).second) {
        todo.push_back(producer);
      }
    }
    if (unrolled.body.size() > kMostBranchNodes) return std::nullopt;
  }
  if (unrolled.slices.empty()) return std::nullopt;
  unrolled.lengths = {unrolled.slices.front().length()};
  for (const Slice& slice : unrolled.slices)
    if (slice.length() != unrolled.lengths.front()) return std::nullopt;
  return unrolled;
}

bool keeps_to_itself(const Unrolled& unrolled) {
  const auto stays = [&](const std::unordered_set<const ir::Node*>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
      return node->subgraphs().empty() && std::all_of(node->outputs().begin(), node->outputs().end(), [&](auto* v) {
               return !v ||
                      (!v->is_output() && std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& use) {
                        return unrolled.body.contains(use.node) || unrolled.repeats.contains(use.node) ||
                               std::find(unrolled.joins.begin(), unrolled.joins.end(), use.node) !=
                                   unrolled.joins.end();
                      }));
             });
    });
  };
  return stays(unrolled.body) && stays(unrolled.repeats);
}

void merge(Unrolled& into, Unrolled&& other) {
  for (const Slice& slice : other.slices) {
    const bool known =
        std::any_of(into.slices.begin(), into.slices.end(), [&](const Slice& mine) { return mine.node == slice.node; });
    if (!known) into.slices.push_back(slice);
  }
  into.joins.push_back(other.joins.front());
  into.body.merge(other.body);
  into.repeats.merge(other.repeats);
  into.constants.merge(other.constants);
}

}  // namespace

std::vector<Unrolled> find_unrolled(const ir::Graph& graph) {
  std::vector<Unrolled> found;
  std::unordered_map<const ir::Node*, size_t> by_cut;
  const auto dependents = dependents_of_single_slices(graph);
  for (ir::Node* node : graph.nodes()) {
    if (!joins_pieces(*node) || node->inputs().empty()) continue;
    auto unrolled = node->inputs().size() == 1 ? follow_branch(*node, dependents) : match_branches(*node);
    if (!unrolled) continue;
    const auto known = by_cut.find(unrolled->slices.front().node);
    const size_t at = known == by_cut.end() ? found.size() : known->second;
    for (const Slice& slice : unrolled->slices) by_cut[slice.node] = at;
    if (at < found.size()) {
      merge(found[at], std::move(*unrolled));
    } else {
      found.push_back(std::move(*unrolled));
    }
  }
  std::erase_if(found, [](const Unrolled& unrolled) { return !keeps_to_itself(unrolled); });
  return found;
}

}  // namespace thaw::lifting
