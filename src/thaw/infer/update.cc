// Inferring again what an edit makes different.
#include <algorithm>
#include <numeric>
#include <queue>

#include "thaw/infer/engine.h"
#include "thaw/infer/inference.h"

namespace thaw::infer {

using ops::Fact;

namespace {

// The node of the main graph that a node stands in, itself if it stands there; null for one that stands nowhere.
const ir::Node* main_node(const ir::Graph& main, const ir::Node* node) {
  while (node && node->graph() != &main) node = node->graph()->parent_node();
  return node;
}

// Nodes by their position, each once.
class Waiting {
 public:
  void add(const ir::Node* node) {
    if (node && !node->is_removed() && seen_.insert(node).second) queue_.push({ir::Graph::position_of(node), node});
  }
  const ir::Node* next() {
    if (queue_.empty()) return nullptr;
    const ir::Node* node = queue_.top().second;
    queue_.pop();
    seen_.erase(node);
    return node;
  }

 private:
  using Entry = std::pair<uint64_t, const ir::Node*>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::unordered_set<const ir::Node*> seen_;
};

// Keeps the entries whose node is not among those, in both lists.
template <typename T>
void drop(std::vector<T>& list, std::vector<const ir::Node*>& at, const std::unordered_set<const ir::Node*>& nodes) {
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (nodes.contains(at[i])) continue;
    if (kept != i) {
      list[kept] = std::move(list[i]);
      at[kept] = at[i];
    }
    ++kept;
  }
  list.resize(kept);
  at.resize(kept);
}

template <typename T>
void sort_by_order(std::vector<T>& list, std::vector<const ir::Node*>& at) {
  const auto before = [&](size_t a, size_t b) { return ir::Graph::position_of(at[a]) < ir::Graph::position_of(at[b]); };
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<T> sorted;
  std::vector<const ir::Node*> sorted_at;
  for (const size_t i : order) {
    sorted.push_back(std::move(list[i]));
    sorted_at.push_back(at[i]);
  }
  list = std::move(sorted);
  at = std::move(sorted_at);
}

}  // namespace

// Facts of the constants that a node reads, in its subgraphs too: they may be new, or other tensors than before.
void Engine::learn_constants(const ir::Node& node) {
  for (const ir::Value* value : node.inputs())
    if (value && value->initializer() && value->graph() == model_.graph.get())
      root_.facts[value] = initializer_fact(model_, *value, scope_);
  for (const ir::Graph* graph : node.subgraphs())
    for (const ir::Node* inner : graph->nodes()) learn_constants(*inner);
}

void Engine::forget_nodes(const std::unordered_set<const ir::Node*>& nodes) {
  drop(result_.obligations_, stated_at_, nodes);
  drop(result_.problems_, failed_at_, nodes);
}

size_t Engine::update(std::span<const ir::Node* const> touched, std::span<const ir::Value* const> declared) {
  const ir::Graph& main = *model_.graph;
  root_.facts = std::move(result_.facts_);
  root_.held = std::move(result_.held_);
  Waiting waiting;
  const auto add_readers = [&](const ir::Value* value) {
    for (const ir::Use& use : value->uses()) waiting.add(main_node(main, use.node));
    for (const ir::Graph* graph : main.returned_by(value)) waiting.add(main_node(main, graph->parent_node()));
  };
  for (const ir::Value* value : declared) {
    if (!value->is_input() || value->graph() != &main || value->initializer() || options_.inputs.contains(value))
      continue;
    Fact fact = declared_input_fact(model_, *value, scope_);
    if (ops::is_same_knowledge(fact, root_.facts[value])) continue;
    root_.facts[value] = std::move(fact);
    add_readers(value);
  }
  std::unordered_set<const ir::Node*> visited(touched.begin(), touched.end());
  forget_nodes(visited);
  for (const ir::Node* node : touched) {
    if (node->is_removed()) continue;
    learn_constants(*node);
    waiting.add(node);
  }
  size_t count = 0;
  while (const ir::Node* node = waiting.next()) {
    ++count;
    if (visited.insert(node).second) forget_nodes({node});
    std::vector<Fact> before;
    for (const ir::Value* output : node->outputs()) before.push_back(output ? root_.facts[output] : Fact());
    at_ = node;
    run_node(*node, root_);
    for (size_t i = 0; i < before.size(); ++i)
      if (const ir::Value* output = node->outputs()[i];
          output && !ops::is_same_knowledge(before[i], root_.facts[output]))
        add_readers(output);
  }
  sort_by_order(result_.obligations_, stated_at_);
  sort_by_order(result_.problems_, failed_at_);
  result_.facts_ = std::move(root_.facts);
  result_.held_ = std::move(root_.held);
  return count;
}

Inference::Inference(const ir::Model& model, dim::Scope& scope, InferOptions options)
    : options_(std::move(options)), engine_(std::make_unique<Engine>(model, scope, options_)) {
  engine_->run();
}

Inference::Inference(const ir::Model& model, dim::Scope& scope, UnknownSizes unknown)
    : engine_(std::make_unique<Engine>(model, scope, options_)) {
  if (unknown != UnknownSizes::kUnknown) engine_->name_unknown_sizes(unknown == UnknownSizes::kNamedInBranches);
  engine_->run();
}

Inference::~Inference() = default;

const Result& Inference::result() const { return engine_->result(); }

size_t Inference::update(std::span<const ir::Node* const> touched, std::span<const ir::Value* const> declared) {
  if (!is_paused_) return engine_->update(touched, declared);
  for (const ir::Node* node : touched) touched_.insert(node);
  declared_.insert(declared_.end(), declared.begin(), declared.end());
  return 0;
}

void Inference::assume_same(const ir::Value* now, const ir::Value* before) {
  engine_->result().facts_.insert_or_assign(now, Fact(fact(before)));
}

size_t Inference::resume() {
  is_paused_ = false;
  const std::vector<const ir::Node*> touched = touched_.take();
  const size_t count = touched.empty() && declared_.empty() ? 0 : engine_->update(touched, declared_);
  declared_.clear();
  return count;
}

}  // namespace thaw::infer
