#include "thaw/lift/align/align.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

using Positions = std::unordered_map<const ir::Node*, size_t>;

// Loops that all traces have, as far as their branches differ: what every trace does equally often is no frozen size.
std::vector<Loop> find_loops(const std::vector<Trace>& traces, const std::set<std::string>& plain) {
  std::vector<std::vector<Unrolled>> found;
  for (const Trace& trace : traces) found.push_back(find_unrolled(*trace.model->graph));
  std::vector<Loop> loops;
  for (const auto& each : found)
    if (each.size() != found.front().size()) return loops;
  for (size_t i = 0; i < found.front().size(); ++i) {
    Loop loop;
    bool many = false, differs = false;
    for (auto& each : found) {
      many |= each[i].lengths.size() > 1;
      differs |= each[i].lengths != found.front()[i].lengths;
    }
    if (!many || !differs) continue;
    for (auto& each : found) {
      loop.lengths.insert(loop.lengths.end(), each[i].lengths.begin(), each[i].lengths.end());
      loop.traces.push_back(std::move(each[i]));
    }
    if (!plain.contains(name_of(loop))) loops.push_back(std::move(loop));
  }
  return loops;
}

// Those of the graphs that a node holds follow it.
void add_nodes(const ir::Graph& graph, const std::unordered_set<const ir::Node*>& left_out,
               std::vector<ir::Node*>& nodes) {
  for (ir::Node* node : graph.nodes()) {
    if (node->constant() || left_out.contains(node)) continue;
    nodes.push_back(node);
    for (const ir::Graph* inner : node->subgraphs()) add_nodes(*inner, left_out, nodes);
  }
}

// Nodes other than Constant, of which exporters write as many as they please, and the repeats of loops.
std::vector<ir::Node*> working_nodes(const ir::Model& model, const std::vector<Loop>& loops, size_t trace) {
  std::vector<ir::Node*> nodes;
  std::unordered_set<const ir::Node*> repeats;
  for (const Loop& loop : loops) repeats.insert(loop.traces[trace].repeats.begin(), loop.traces[trace].repeats.end());
  add_nodes(*model.graph, repeats, nodes);
  return nodes;
}

Positions positions_of(const std::vector<ir::Node*>& nodes) {
  Positions positions;
  positions.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) positions.emplace(nodes[i], i);
  return positions;
}

void check_order(const std::vector<Trace>& traces, const std::vector<std::vector<ir::Node*>>& nodes) {
  for (size_t k = 1; k < traces.size(); ++k) {
    const size_t common = std::min(nodes[0].size(), nodes[k].size());
    size_t at = 0;
    while (at < common && nodes[0][at]->op_type() == nodes[k][at]->op_type() &&
           nodes[0][at]->domain() == nodes[k][at]->domain())
      ++at;
    if (at == nodes[0].size() && at == nodes[k].size()) continue;
    throw Error(ErrorCode::kUnsupported,
                {.what = fmt::format("has {} nodes where {} has {}; from {} on they are not the same", nodes[k].size(),
                                     traces[0].name, nodes[0].size(),
                                     at < nodes[0].size() ? nodes[0][at]->describe() : "the end"),
                 .where = traces[k].name,
                 .expected = "traces with the same operators in the same order, loops over windows apart",
                 .next = "export all traces with the same versions and options, or build the model with thaw build"});
  }
}

// Those that are left out at the end count for nothing.
size_t count_given(std::span<ir::Value* const> values) {
  size_t count = values.size();
  while (count > 0 && values[count - 1] == nullptr) --count;
  return count;
}

// Whether two values of graphs inside nodes are inputs of graphs that stand for each other, at one place.
bool same_inner_input(const ir::Value* a, const ir::Value* b, const Positions& first, const Positions& other) {
  const ir::Graph *x = a->graph(), *y = b->graph();
  if (!a->is_input() || !b->is_input()) return false;
  const auto place = [](const ir::Value* value, const ir::Graph* graph) {
    return std::ranges::find(graph->inputs(), value) - graph->inputs().begin();
  };
  const auto order = [](const ir::Graph* graph) {
    const auto graphs = graph->parent_node()->subgraphs();
    return std::ranges::find(graphs, graph) - graphs.begin();
  };
  const auto p = first.find(x->parent_node()), q = other.find(y->parent_node());
  return p != first.end() && q != other.end() && p->second == q->second && order(x) == order(y) &&
         place(a, x) == place(b, y);
}

// Whether two operands are outputs of nodes that stand for each other, or inputs of one name.
bool same_source(const ir::Value* a, const ir::Value* b, const Positions& first, const Positions& other) {
  if (!a || !b) return a == b;
  const bool inner = a->graph()->parent() != nullptr;
  if (inner != (b->graph()->parent() != nullptr)) return false;
  if (a->producer_index() != b->producer_index()) return false;
  if (inner && !a->producer() && !b->producer()) return same_inner_input(a, b, first, other);
  const auto x = first.find(a->producer()), y = other.find(b->producer());
  if (x == first.end() || y == other.end())
    return x == first.end() && y == other.end() && (a->producer() || a->name() == b->name());
  return x->second == y->second;
}

// What two traces' nodes at one position have in common and what not.
class TraceComparison {
 public:
  TraceComparison(const std::vector<Trace>& traces, Alignment& out) : traces_(traces), out_(out) {
    for (const auto& nodes : out.nodes) positions_.push_back(positions_of(nodes));
    for (Loop& loop : out.loops) note_loop(loop);
  }

  void compare(size_t position) {
    ir::Node* node = out_.nodes[0][position];
    const bool cuts = cuts_.contains(node), joins = joins_.contains(node);
    for (size_t k = 1; k < traces_.size(); ++k) {
      const ir::Node* other = out_.nodes[k][position];
      const size_t operands = count_given(node->inputs()), others = count_given(other->inputs());
      if (!joins && !cuts && operands != others)
        return refuse(*node, fmt::format("it has {} operands, and {} in {}", operands, others, traces_[k].name));
      const size_t results = count_given(node->outputs()), other_results = count_given(other->outputs());
      if (!cuts && results != other_results)
        return refuse(*node, fmt::format("it has {} results, and {} in {}", results, other_results, traces_[k].name));
      for (const ir::Attribute& attribute : other->attributes())
        if (!node->attribute(attribute.name) && !(cuts && attribute.name == "split"))
          refuse(*node, fmt::format("the attribute '{}' is there in {} only", attribute.name, traces_[k].name));
    }
    compare_graphs(position);
    for (const ir::Attribute& attribute : node->attributes()) {
      if ((cuts && attribute.name == "split") || holds_graph(attribute)) continue;
      for (size_t k = 1; k < traces_.size(); ++k) {
        const ir::Attribute* other = out_.nodes[k][position]->attribute(attribute.name);
        if (other && same_attribute(attribute, *other)) continue;
        refuse(*node, fmt::format("the attribute '{}' differs", attribute.name));
        break;
      }
    }
    const int count = joins ? 1 : static_cast<int>(node->inputs().size());
    for (int input = 0; input < count; ++input) {
      if (cuts && gives_bounds(*node, input)) continue;
      if (const auto found = in_loop_.find({position, input}); found != in_loop_.end()) {
        add_branches(position, input, *found->second, found->second->constants);
      } else {
        compare_operand(position, input);
      }
    }
  }

  // What the graphs of a node take and return; their nodes have positions of their own.
  void compare_graphs(size_t position) {
    const ir::Node* node = out_.nodes[0][position];
    const auto graphs = node->subgraphs();
    for (size_t k = 1; k < traces_.size(); ++k) {
      const auto others = out_.nodes[k][position]->subgraphs();
      if (graphs.size() != others.size()) return refuse(*node, "it holds another number of graphs");
      for (size_t i = 0; i < graphs.size(); ++i) {
        const auto &outputs = graphs[i]->outputs(), &other_outputs = others[i]->outputs();
        if (graphs[i]->inputs().size() != others[i]->inputs().size() || outputs.size() != other_outputs.size())
          return refuse(*node,
                        fmt::format("its graph takes or returns another number of values in {}", traces_[k].name));
        for (size_t o = 0; o < outputs.size(); ++o)
          if (!same_result(outputs[o], other_outputs[o], k))
            refuse(*node, fmt::format("its graph returns something else in {}", traces_[k].name));
      }
    }
  }

  // What the models return, result by result.
  void compare_outputs() {
    const std::vector<ir::Value*>& outputs = traces_[0].model->graph->outputs();
    for (size_t k = 1; k < traces_.size(); ++k) {
      const std::vector<ir::Value*>& others = traces_[k].model->graph->outputs();
      if (outputs.size() != others.size()) {
        out_.unaligned.push_back(
            fmt::format("the model has {} outputs, and {} in {}", outputs.size(), others.size(), traces_[k].name));
        continue;
      }
      for (size_t i = 0; i < outputs.size(); ++i)
        if (!same_source(outputs[i], others[i], positions_[0], positions_[k]))
          out_.unaligned.push_back(
              fmt::format("output '{}' is something else in {}", outputs[i]->name(), traces_[k].name));
    }
  }

 private:
  // A branch may return a constant.
  bool same_result(const ir::Value* value, const ir::Value* other, size_t trace) const {
    const ir::Tensor *a = value->constant(), *b = other->constant();
    if (a || b) return a && b && same_tensor(*a, *b);
    return same_source(value, other, positions_[0], positions_[trace]);
  }

  void refuse(const ir::Node& node, const std::string& why) {
    out_.unaligned.push_back(fmt::format("{}: {}", node.describe(), why));
  }

  void note_loop(Loop& loop) {
    for (const Slice& slice : loop.traces[0].slices) cuts_.insert(slice.node);
    joins_.insert(loop.traces[0].joins.begin(), loop.traces[0].joins.end());
    for (const ir::Node* node : loop.traces[0].body) loop_of_.emplace(node, &loop);
    for (size_t k = 0; k < traces_.size(); ++k) {
      for (const auto& [place, tensors] : loop.traces[k].constants)
        in_loop_.emplace(std::pair{positions_[k].at(place.first), place.second}, &loop);
    }
  }

  // A constant that differs from branch to branch, in some trace at least: in each of all branches.
  void add_branches(size_t position, int input, const Loop& loop, std::vector<Difference>& to) {
    Difference difference{
        .node = out_.nodes[0][position], .input = input, .tensors = {}, .value = out_.nodes[0][position]->input(input)};
    for (size_t k = 0; k < traces_.size(); ++k) {
      const Unrolled& unrolled = loop.traces[k];
      const ir::Node* node = out_.nodes[k][position];
      const ir::Value* value = node->input(input);
      const ir::Tensor* own = value ? value->constant() : nullptr;
      if (!own) {
        refuse(*node, fmt::format("operand {} is a constant in some traces only", input));
        return;
      }
      const auto differing = unrolled.constants.find({node, input});
      for (size_t i = 0; i < unrolled.lengths.size(); ++i)
        difference.tensors.push_back(differing == unrolled.constants.end() ? own : differing->second[i]);
    }
    to.push_back(std::move(difference));
  }

  void compare_operand(size_t position, int input) {
    ir::Node* node = out_.nodes[0][position];
    const ir::Value* value = node->input(input);
    const ir::Tensor* first = value ? value->constant() : nullptr;
    Difference difference{.node = node, .input = input, .tensors = {first}, .value = value};
    bool differs = false;
    for (size_t k = 1; k < traces_.size(); ++k) {
      const ir::Value* other = out_.nodes[k][position]->input(input);
      const ir::Tensor* tensor = other ? other->constant() : nullptr;
      if ((first == nullptr) != (tensor == nullptr)) {
        return refuse(*node, fmt::format("operand {} is a constant in some traces only", input));
      }
      if (!first) {
        if (same_source(value, other, positions_[0], positions_[k])) continue;
        return refuse(*node, fmt::format("operand {} reads something else in {}", input, traces_[k].name));
      }
      difference.tensors.push_back(tensor);
      differs |= !same_tensor(*first, *tensor);
      if (differs && ops::role_of(*node, input) == ops::Role::kAxes)
        return refuse(*node, fmt::format("it works along other axes in {}", traces_[k].name));
    }
    // Exporters write equal constants once: a size and a number that it happens to be in the first trace, two masks that are
    // equal there.
    if (differs ? steady_.contains(value) : seen_.contains(value)) difference.value = value = unshare(*node, input);
    if (!differs) {
      steady_.insert(value);
      return;
    }
    if (const auto loop = loop_of_.find(node); loop != loop_of_.end())
      add_branches(position, input, *loop->second, loop->second->steady);
    auto known = seen_.find(value);
    // What a shape is given to says more of it, and it is given to tensors that have nothing to do with each other.
    const bool is_shape = ops::role_of(*node, input) == ops::Role::kShape;
    if (known != seen_.end() && (is_shape || !same_in_all(out_.differences[known->second], difference))) {
      difference.value = value = unshare(*node, input);
      known = seen_.end();
    }
    if (known != seen_.end()) return;  // solved once
    seen_.emplace(value, out_.differences.size());
    out_.differences.push_back(std::move(difference));
  }

  // Whether the traces agree that two constants, which are one in the first, are one.
  static bool same_in_all(const Difference& a, const Difference& b) {
    for (size_t k = 1; k < a.tensors.size(); ++k)
      if (!same_tensor(*a.tensors[k], *b.tensors[k])) return false;
    return true;
  }

  // The node's own copy of a constant of the first trace.
  const ir::Value* unshare(ir::Node& node, int input) const {
    ir::Graph& graph = *traces_.front().model->graph;
    ir::Tensor copy = *node.input(input)->constant();
    copy.name = graph.unique_name(node.input(input)->name());
    node.set_input(input, graph.add_initializer(std::move(copy)));
    return node.input(input);
  }

  const std::vector<Trace>& traces_;
  Alignment& out_;
  std::vector<Positions> positions_;
  std::unordered_set<const ir::Node*> cuts_, joins_;
  std::unordered_map<const ir::Node*, Loop*> loop_of_;  // by the first trace's nodes of a body
  std::map<std::pair<size_t, int>, Loop*> in_loop_;
  std::unordered_map<const ir::Value*, size_t> seen_;  // constants that differ
  std::unordered_set<const ir::Value*> steady_;        // constants that are the same in all traces where they are read
};

}  // namespace

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

bool grows(const Difference& difference) {
  return std::ranges::any_of(difference.tensors,
                             [&](const ir::Tensor* t) { return t->dims != difference.tensors.front()->dims; });
}

void sort_by_nodes(Alignment& alignment) {
  std::unordered_map<const ir::Node*, size_t> places;
  for (const ir::Node* node : alignment.nodes.front()) places.emplace(node, places.size());
  std::ranges::stable_sort(alignment.differences, {},
                           [&](const Difference& difference) { return places.at(difference.node); });
}

std::string name_of(const Loop& loop) { return loop.traces[0].joins[0]->output(0)->name(); }

Alignment align(const std::vector<Trace>& traces, const std::set<std::string>& plain) {
  Alignment out;
  out.loops = find_loops(traces, plain);
  for (size_t k = 0; k < traces.size(); ++k) out.nodes.push_back(working_nodes(*traces[k].model, out.loops, k));
  check_order(traces, out.nodes);
  TraceComparison comparison(traces, out);
  for (size_t i = 0; i < out.nodes[0].size(); ++i) comparison.compare(i);
  comparison.compare_outputs();
  return out;
}

bool aligned(const std::vector<Trace>& traces) {
  try {
    return align(traces).unaligned.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace thaw::lifting
