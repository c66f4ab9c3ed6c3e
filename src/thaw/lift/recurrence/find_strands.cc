#include "thaw/lift/recurrence/find_strands.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "thaw/core/disjoint_sets.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/rewrite/splice.h"

namespace thaw::lifting {
namespace {

constexpr size_t kFewestSteps = 3;        // of fewer, chance makes as many
constexpr int64_t kMostStepNumbers = 64;  // integers of a constant that may differ from step to step: no weights

bool may_differ(const ir::Tensor& a, const ir::Tensor& b) {
  return ir::is_integer(a.data_type) && a.data_type == b.data_type && a.dims == b.dims &&
         a.num_elements() <= kMostStepNumbers;
}

// One operator, set up the same, with the same constants but for small integers.
bool made_alike(const ir::Node& a, const ir::Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || a.overload() != b.overload() ||
      a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size() ||
      a.attributes().size() != b.attributes().size() || !a.subgraphs().empty())
    return false;
  for (const ir::Attribute& attribute : a.attributes()) {
    const ir::Attribute* other = b.attribute(attribute.name);
    if (!other || !same_attribute(attribute, *other)) return false;
  }
  for (int i = 0; i < static_cast<int>(a.inputs().size()); ++i) {
    if ((a.input(i) == nullptr) != (b.input(i) == nullptr)) return false;
    const ir::Tensor *x = constant_operand(a, i), *y = constant_operand(b, i);
    if (x && y && x != y && !same_tensor(*x, *y) && !may_differ(*x, *y)) return false;
  }
  for (int i = 0; i < static_cast<int>(a.outputs().size()); ++i)
    if ((a.output(i) == nullptr) != (b.output(i) == nullptr)) return false;
  return true;
}

class StrandSearch {
 public:
  explicit StrandSearch(ir::Graph& graph) : graph_(graph) {
    for (ir::Node* node : graph.nodes())
      if (!node->constant()) nodes_.push_back(node);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      places_[nodes_[i]] = i;
      size_t& depth = depths_[nodes_[i]];
      for (const ir::Value* value : nodes_[i]->inputs())
        if (is_made(value)) depth = std::max(depth, depths_[value->producer()] + 1);
    }
    parts_ = DisjointSets(nodes_.size());
    visits_left_ = 32 * nodes_.size() + 1024;
  }

  std::vector<Strands> run() {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) try_operands(**node);
    try_look_alikes();
    part_shared();
    return take();
  }

 private:
  struct Pair {
    const ir::Value *later, *before;
    ir::Node* reader = nullptr;  // of what is before, and as which operand
    int input = 0;
  };
  // A node that two nodes of the next step have for theirs in the step before: in the first step both read the same.
  struct Shared {
    ir::Node *later, *before, *reader;
    int input;
  };
  using Walked = std::vector<ir::Node*>;  // of the later steps, in the order in which they were paired

  static bool is_made(const ir::Value* value) { return value && value->producer() && !value->constant(); }

  // What is joined are often the results of all steps.
  void try_operands(const ir::Node& node) {
    const auto operands = node.inputs();
    if (operands.size() < kFewestSteps) return;
    std::vector<const ir::Value*> values;
    for (const ir::Value* value : operands)
      if (is_made(value)) values.push_back(value);
    if (values.size() < kFewestSteps) return;
    std::vector<const ir::Value*> backwards(values.rbegin(), values.rend());
    if (!try_row(values)) try_row(backwards);
  }

  // Values of steps, the first step first. The last ones tell whether it is a row of steps.
  bool try_row(const std::vector<const ir::Value*>& row) {
    constexpr size_t kTried = 4;
    const size_t n = row.size(), tried = std::min(n - 1, kTried);
    if (!try_pairs(std::span(row).last(tried + 1))) return false;
    for (size_t i = n - tried - 1; i > 0; --i) try_pairs(std::span(row).subspan(i - 1, 2));
    return true;
  }

  // Walks from each and the one before it, the last first, and takes it all back where none leads from step to step.
  bool try_pairs(std::span<const ir::Value* const> row) {
    struct Walk {
      Walked walked;
      std::vector<const ir::Node*> met;
      std::vector<Shared> shared;
      bool leads_on;
    };
    std::vector<Walk> walks;
    bool any = false;
    for (size_t i = row.size() - 1; i > 0; --i) {
      const ir::Node *later = row[i]->producer(), *before = row[i - 1]->producer();
      if (later == before) continue;
      const auto known = before_.find(later);
      any |= known != before_.end() && known->second == before;
      Walked walked = walk(row[i], row[i - 1]);
      const bool meets = !met_.empty();
      walks.push_back({std::move(walked), std::move(met_), std::move(met_shared_), meets});
    }
    for (Walk& each : walks) each.leads_on = each.leads_on || comes_again(each.walked, walks.size());
    for (const Walk& each : walks) {
      any |= each.leads_on;
      if (!each.leads_on) continue;
      keep(each.walked, each.met);
      shared_.insert(shared_.end(), each.shared.begin(), each.shared.end());
    }
    for (const Walk& each : walks) {
      if (each.leads_on) continue;
      for (const ir::Node* node : each.walked) {
        after_.erase(before_.at(node));
        before_.erase(node);
      }
    }
    return any;
  }

  // Whether a walk meets what it has met some steps later: where no state is carried, it stays in one step.
  bool comes_again(const Walked& walked, size_t steps) const {
    const std::unordered_set<const ir::Node*> here(walked.begin(), walked.end());
    return std::ranges::any_of(walked, [&](const ir::Node* node) {
      for (size_t i = 0; i < steps; ++i) {
        const auto before = before_.find(node);
        if (before == before_.end()) return false;
        node = before->second;
        if (here.contains(node)) return true;
      }
      return false;
    });
  }

  // What one walk pairs belongs together, and with what it met.
  void keep(const Walked& walked, const std::vector<const ir::Node*>& met) {
    if (walked.empty()) return;
    const size_t first = places_.at(walked.front());
    for (const ir::Node* node : walked) {
      parts_.join(places_.at(node), first);
      parts_.join(places_.at(before_.at(node)), first);
    }
    for (const ir::Node* node : met) parts_.join(places_.at(node), first);
  }

  Walked walk(const ir::Value* later, const ir::Value* before, ir::Node* reader = nullptr, int input = 0) {
    Walked walked;
    met_.clear();
    met_shared_.clear();
    walked_.clear();
    std::vector<Pair> todo{{later, before, reader, input}};
    while (!todo.empty() && visits_left_ > 0) {
      const auto [a, b, by, at] = todo.back();
      todo.pop_back();
      --visits_left_;
      if (a == b || !is_made(a) || !is_made(b) || a->producer_index() != b->producer_index()) continue;
      ir::Node *x = a->producer(), *y = b->producer();
      if (x == y) continue;
      if (const auto known = before_.find(x); known != before_.end()) {
        // A node that reads what it is the step before of goes the wrong way.
        const bool onwards = known->second == y && !walked_.contains(x) && !walked_.contains(y);
        if (onwards && !walked.empty()) met_.push_back(x);
        continue;
      }
      if (!made_alike(*x, *y) || depends_on(*y, *x)) continue;
      if (after_.contains(y)) {
        if (by) met_shared_.push_back({x, y, by, at});
        continue;
      }
      before_[x] = y;
      after_[y] = x;
      walked.push_back(x);
      walked_.insert(x);
      for (int i = static_cast<int>(x->inputs().size()) - 1; i >= 0; --i)
        todo.push_back({x->input(i), y->input(i), y, i});
    }
    return walked;
  }

  // Whether a node is made of another: then it is no step before it.
  bool depends_on(const ir::Node& node, const ir::Node& other) {
    const size_t least = depths_.at(&other);
    if (depths_.at(&node) <= least) return false;
    std::vector<const ir::Node*> todo{&node};
    std::unordered_set<const ir::Node*> seen;
    while (!todo.empty() && visits_left_ > 0) {
      const ir::Node* each = todo.back();
      todo.pop_back();
      --visits_left_;
      for (const ir::Value* value : each->inputs()) {
        if (!is_made(value)) continue;
        const ir::Node* maker = value->producer();
        if (maker == &other) return true;
        if (depths_.at(maker) > least && seen.insert(maker).second) todo.push_back(maker);
      }
    }
    return visits_left_ == 0;
  }

  // Where only the last state is read on: nodes that look alike, and whose operands do.
  void try_look_alikes() {
    constexpr int kDepth = 2;
    std::unordered_map<const ir::Node*, size_t> looks;
    for (const ir::Node* node : nodes_) looks[node] = std::hash<std::string>()(node->op_type());
    for (int depth = 0; depth < kDepth; ++depth) {
      std::unordered_map<const ir::Node*, size_t> deeper;
      for (const ir::Node* node : nodes_) {
        size_t look = looks[node];
        for (const ir::Value* value : node->inputs()) {
          const auto made = value ? looks.find(value->producer()) : looks.end();
          look = look * 1099511628211U + (made == looks.end() ? 7 : made->second);
        }
        deeper[node] = look;
      }
      looks = std::move(deeper);
    }
    std::unordered_map<size_t, std::vector<ir::Node*>> groups;
    for (ir::Node* node : nodes_) groups[looks[node]].push_back(node);
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      std::vector<ir::Node*>& group = groups[looks[*node]];
      if (group.size() < 2) continue;
      std::vector<const ir::Value*> row;
      for (const ir::Node* each : group)
        if (each->output(0)) row.push_back(each->output(0));
      group.clear();
      if (row.size() > 1) try_row(row);
    }
  }

  // Gives each of them a node of its own.
  void part_shared() {
    while (!shared_.empty() && visits_left_ > 0) {
      const Shared shared = shared_.back();
      shared_.pop_back();
      const bool is_first = !before_.contains(shared.later) && !before_.contains(shared.before);
      ir::Value* made = shared.reader->input(shared.input);
      if (!is_first || !made || made->producer() != shared.before) continue;
      std::vector<ir::Value*> outputs;
      for (const ir::Value* output : shared.before->outputs())
        outputs.push_back(output ? graph_.add_value(graph_.unique_name(output->name())) : nullptr);
      const auto inputs = shared.before->inputs();
      ir::Node* own = rewrite::copy_node(*shared.before, graph_, {inputs.begin(), inputs.end()}, outputs,
                                         shared.before->name, graph_.next(shared.before));
      shared.reader->set_input(shared.input, outputs[static_cast<size_t>(made->producer_index())]);
      places_[own] = parts_.add();
      depths_[own] = depths_.at(shared.before);
      nodes_.push_back(own);
      const ir::Value* later = shared.later->output(made->producer_index());
      keep(walk(later, outputs[static_cast<size_t>(made->producer_index())], shared.reader, shared.input), met_);
      shared_.insert(shared_.end(), met_shared_.begin(), met_shared_.end());
    }
  }

  std::vector<Strands> take();

  ir::Graph& graph_;
  std::vector<Shared> shared_, met_shared_;  // of the walks that were kept, of the last walk
  std::vector<ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, ir::Node*> before_, after_;
  std::unordered_set<const ir::Node*> walked_;  // by the last walk
  std::vector<const ir::Node*> met_;            // by the last walk: paired before, in the same way
  std::unordered_map<const ir::Node*, size_t> places_;
  std::unordered_map<const ir::Node*, size_t> depths_;  // nodes on the longest way there
  DisjointSets parts_{0};                               // what belongs together
  size_t visits_left_;
};

struct PlaceInStrand {
  size_t strand;
  int64_t index;
};

// The earliest step that each strand can begin at, so that no step reads what a later one makes.
void schedule(Strands& strands, const std::unordered_map<const ir::Node*, PlaceInStrand>& places) {
  std::vector<ir::Node*> nodes;
  for (const Strand& strand : strands) nodes.insert(nodes.end(), strand.nodes.begin(), strand.nodes.end());
  std::ranges::sort(nodes, {}, ir::Graph::position_of);
  std::unordered_map<const ir::Node*, int64_t> steps;
  std::vector<ir::Node*> todo(nodes.rbegin(), nodes.rend());
  while (!todo.empty()) {
    ir::Node* node = todo.back();
    const PlaceInStrand place = places.at(node);
    Strand& strand = strands[place.strand];
    const size_t waiting = todo.size();
    int64_t step = 0;
    const auto after = [&](ir::Node* other, int64_t distance) {
      const auto known = steps.find(other);
      if (known == steps.end()) {
        todo.push_back(other);
      } else {
        step = std::max(step, known->second + distance);
      }
    };
    if (!steps.contains(node)) {
      if (place.index > 0) after(strand.nodes[static_cast<size_t>(place.index) - 1], 1);
      for (const ir::Value* value : node->inputs())
        if (value && value->producer() && places.contains(value->producer())) after(value->producer(), 0);
    }
    if (todo.size() > waiting) {
      if (todo.size() > 4 * nodes.size() + 64) return;  // round and round: no such order
      continue;
    }
    todo.pop_back();
    if (steps.emplace(node, step).second) strand.first = std::max(strand.first, step - place.index);
  }
}

std::vector<Strands> StrandSearch::take() {
  Strands all;
  for (ir::Node* node : nodes_) {
    if (!after_.contains(node) || before_.contains(node)) continue;
    Strand& strand = all.emplace_back();
    for (auto next = after_.end(); node; node = next == after_.end() ? nullptr : next->second) {
      strand.nodes.push_back(node);
      next = after_.find(node);
    }
  }
  std::map<size_t, Strands> grouped;
  for (Strand& strand : all) {
    const size_t part = parts_.first_of(places_.at(strand.nodes.front()));
    grouped[part].push_back(std::move(strand));
  }
  std::vector<Strands> found;
  for (auto& [part, strands] : grouped) {
    size_t steps = 0;
    for (const Strand& strand : strands) steps = std::max(steps, strand.nodes.size());
    // What is paired for some steps only stands before or behind the recurrence.
    std::erase_if(strands, [&](const Strand& strand) { return 2 * strand.nodes.size() <= steps; });
    if (steps < kFewestSteps) continue;
    std::unordered_map<const ir::Node*, PlaceInStrand> places;
    for (size_t i = 0; i < strands.size(); ++i)
      for (size_t index = 0; index < strands[i].nodes.size(); ++index)
        places[strands[i].nodes[index]] = {i, static_cast<int64_t>(index)};
    schedule(strands, places);
    int64_t whole = strands.front().end();
    for (const Strand& strand : strands) whole = std::min(whole, strand.end());
    std::ranges::sort(strands, {}, [&](const Strand& strand) {
      return whole > strand.first ? ir::Graph::position_of(strand.at(whole - 1)) : 0;
    });
    found.push_back(std::move(strands));
  }
  std::ranges::sort(found, std::greater<>(),
                    [](const Strands& strands) { return ir::Graph::position_of(strands.back().nodes.back()); });
  return found;
}

}  // namespace

std::vector<Strands> find_strands(ir::Graph& graph) { return StrandSearch(graph).run(); }

}  // namespace thaw::lifting
