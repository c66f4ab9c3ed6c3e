#include "thaw/quant/half/fewest_casts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thaw::quantizing {
namespace {

// Capacities are whole numbers, so that no rounding keeps the search going.
using Flow = int64_t;
constexpr Flow kUnlimited = Flow{1} << 60;
constexpr Flow kMostCost = Flow{1} << 40;

Flow whole(double cost) { return static_cast<Flow>(std::min(std::round(cost), static_cast<double>(kMostCost))); }

class Network {
 public:
  explicit Network(int nodes) : first_(static_cast<size_t>(nodes), kNone) {}

  void connect(int from, int to, Flow forward, Flow backward) {
    add(from, to, forward);
    add(to, from, backward);
  }

  void push_all(int source, int sink) {
    while (measure(source, sink)) {
      next_ = first_;
      while (push(source, sink)) {
      }
    }
  }

  // Whether anything can still go from the node to the sink.
  std::vector<bool> reaches(int sink) const {
    std::vector<bool> found(first_.size());
    std::vector<int> open{sink};
    found[static_cast<size_t>(sink)] = true;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (int e = first_[static_cast<size_t>(at)]; e != kNone; e = edges_[static_cast<size_t>(e)].next) {
        const int before = edges_[static_cast<size_t>(e)].to;
        if (edges_[static_cast<size_t>(e ^ 1)].left <= 0 || found[static_cast<size_t>(before)]) continue;
        found[static_cast<size_t>(before)] = true;
        open.push_back(before);
      }
    }
    return found;
  }

 private:
  static constexpr int kNone = -1;
  struct Edge {
    int to, next;
    Flow left;
  };

  void add(int from, int to, Flow capacity) {
    edges_.push_back({to, first_[static_cast<size_t>(from)], capacity});
    first_[static_cast<size_t>(from)] = static_cast<int>(edges_.size()) - 1;
  }

  bool measure(int source, int sink) {
    level_.assign(first_.size(), kNone);
    std::vector<int> open{source};
    level_[static_cast<size_t>(source)] = 0;
    for (size_t i = 0; i < open.size(); ++i)
      for (int e = first_[static_cast<size_t>(open[i])]; e != kNone; e = edges_[static_cast<size_t>(e)].next) {
        const Edge& edge = edges_[static_cast<size_t>(e)];
        if (edge.left <= 0 || level_[static_cast<size_t>(edge.to)] != kNone) continue;
        level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(open[i])] + 1;
        open.push_back(edge.to);
      }
    return level_[static_cast<size_t>(sink)] != kNone;
  }

  // One path of the levels; without recursion, as a model's longest path may have any length.
  bool push(int source, int sink) {
    std::vector<int> path;  // edges
    int at = source;
    while (at != sink) {
      int& e = next_[static_cast<size_t>(at)];
      while (e != kNone && !leads_on(at, edges_[static_cast<size_t>(e)])) e = edges_[static_cast<size_t>(e)].next;
      if (e != kNone) {
        path.push_back(e);
        at = edges_[static_cast<size_t>(e)].to;
        continue;
      }
      if (path.empty()) return false;
      level_[static_cast<size_t>(at)] = kNone;  // a dead end
      at = edges_[static_cast<size_t>(path.back() ^ 1)].to;
      path.pop_back();
    }
    Flow most = kUnlimited;
    for (const int e : path) most = std::min(most, edges_[static_cast<size_t>(e)].left);
    for (const int e : path) {
      edges_[static_cast<size_t>(e)].left -= most;
      edges_[static_cast<size_t>(e ^ 1)].left += most;
    }
    return true;
  }

  bool leads_on(int at, const Edge& edge) const {
    return edge.left > 0 && level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(at)] + 1;
  }

  std::vector<int> first_, next_, level_;
  std::vector<Edge> edges_;
};

}  // namespace

std::vector<bool> narrow_nodes(std::span<const LabelledNode> nodes, std::span<const LabelledEdge> edges) {
  const int count = static_cast<int>(nodes.size()), narrow = count, wide = count + 1;
  Network network(count + 2);
  for (int i = 0; i < count; ++i) {
    const LabelledNode& node = nodes[static_cast<size_t>(i)];
    if (node.width == Width::kWide) network.connect(i, wide, kUnlimited, 0);
    if (node.width == Width::kNarrow) network.connect(narrow, i, kUnlimited, 0);
    if (node.width == Width::kEither) network.connect(narrow, i, whole(node.cost_when_wide), 0);
  }
  for (const LabelledEdge& edge : edges) {
    const Flow cost = whole(edge.cost_when_different);
    if (cost > 0 && edge.a != edge.b) network.connect(edge.a, edge.b, cost, cost);
  }
  network.push_all(narrow, wide);
  const std::vector<bool> to_wide = network.reaches(wide);
  std::vector<bool> found(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) found[i] = !to_wide[i];
  return found;
}

}  // namespace thaw::quantizing
