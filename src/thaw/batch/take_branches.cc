#include "thaw/batch/take_branches.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "thaw/batch/dependence.h"
#include "thaw/infer/infer.h"
#include "thaw/rewrite/splice.h"

namespace thaw::batching {
namespace {

constexpr int kMostTries = 200;

ir::Graph* branch_of(const ir::Node& node, bool condition) {
  const ir::Attribute* attribute = node.attribute(condition ? "then_branch" : "else_branch");
  const auto* graph = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
  return graph ? graph->get() : nullptr;
}

std::optional<bool> known_condition(const infer::Result& facts, const ir::Node& node) {
  const ir::Value* condition = node.input(0);
  if (!condition) return std::nullopt;
  const ops::Fact& fact = facts.fact(condition);
  if (!fact.elements || fact.elements->size() != 1) return std::nullopt;
  const auto value = fact.elements->front().as_double();
  if (!value) return std::nullopt;
  return *value != 0;
}

bool is_reached(const ir::Node& node, const Dependence& dependence) {
  const auto outputs = node.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](auto* v) { return v && dependence.contains(v); });
}

bool is_around(const ir::Graph* graph, const ir::Graph* inner) {
  while (inner && inner != graph) inner = inner->parent();
  return inner != nullptr;
}

// Whether `node` runs whenever the graph does: it stands in it or around it, or in branches that are known to run.
bool always_runs(const infer::Result& facts, const ir::Node& node, const ir::Graph* graph) {
  const ir::Graph* at = node.graph();
  while (!is_around(at, graph)) {
    const ir::Node* parent = at->parent_node();
    if (!parent || parent->op_type() != "If") return false;
    const auto condition = known_condition(facts, *parent);
    if (!condition || branch_of(*parent, *condition) != at) return false;
    at = parent->graph();
  }
  return true;
}

bool returns_unknown_rank(const infer::Result& facts, const ir::Node& node) {
  const auto outputs = node.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const ir::Value* output) {
    return output && facts.fact(output).is_tensor() && !facts.fact(output).has_rank();
  });
}

class BranchTaker {
 public:
  BranchTaker(ir::Model& model, std::span<ir::Value* const> inputs) : model_(model), inputs_(inputs) {}

  std::vector<TakenBranch> run() {
    while (round()) {
    }
    for (ir::Value* value : truth_)
      if (value) model_.graph->remove_initializer(value);
    return std::move(taken_);
  }

 private:
  // One look at all Ifs; false when nothing changed.
  bool round() {
    Dependence dependence(inputs_, model_.budget);
    dependence.follow(*model_.graph);
    std::vector<ir::Node*> ifs = ifs_of(*model_.graph);
    std::erase_if(ifs, [&](const ir::Node* node) { return !is_reached(*node, dependence); });
    if (ifs.empty()) return false;
    dim::Scope scope;
    const infer::Result facts = infer::infer(model_, scope);
    bool changed = false;
    for (ir::Node* node : ifs)
      if (const auto condition = known_condition(facts, *node)) changed |= take(node, *condition);
    if (changed) return true;
    for (ir::Node* node : ifs)
      if (take_possible(facts, dependence, node)) return true;
    for (ir::Node* node : ifs) {
      if (!returns_unknown_rank(facts, *node)) continue;
      const auto only = only_branch(facts, node);
      if (only && take(node, *only)) return true;
    }
    return false;
  }

  bool take(ir::Node* node, bool condition) {
    ir::Graph* branch = branch_of(*node, condition);
    if (!branch || !rewrite::can_splice(*branch)) return false;
    rewrite::splice(*branch, node, rewrite::name_of(*node));
    rewrite::replace_node(node, branch->outputs());
    return true;
  }

  // What inference holds against a node that runs whenever the branch does; null where nothing.
  static const infer::Problem* problem_in(const infer::Result& facts, const ir::Graph* branch) {
    for (const infer::Problem& problem : facts.problems()) {
      const ir::Graph* at = problem.node ? problem.node->graph() : nullptr;
      if (at && is_around(branch, at) && always_runs(facts, *problem.node, branch)) return &problem;
    }
    return nullptr;
  }

  bool take_possible(const infer::Result& facts, const Dependence& dependence, ir::Node* node) {
    ir::Value* condition = node->input(0);
    if (node->graph() != model_.graph.get() || !condition || dependence.contains(condition)) return false;
    const ir::Graph *taken = branch_of(*node, true), *left = branch_of(*node, false);
    if (!taken || !left) return false;
    const infer::Problem *if_true = problem_in(facts, taken), *if_false = problem_in(facts, left);
    if ((if_true == nullptr) == (if_false == nullptr)) return false;
    const infer::Problem& problem = if_true ? *if_true : *if_false;
    TakenBranch found{condition, if_false != nullptr, node->describe(),
                      problem.node->describe() + ": " + problem.message};
    if (!take(node, found.value)) return false;
    taken_.push_back(std::move(found));
    return true;
  }

  std::optional<bool> only_branch(const infer::Result& before, ir::Node* node) {
    if (tries_ + 2 > kMostTries) return std::nullopt;
    tries_ += 2;
    const bool can_be_true = is_possible(before, node, true), can_be_false = is_possible(before, node, false);
    if (can_be_true == can_be_false) return std::nullopt;
    return can_be_true;
  }

  // Whether all that always runs with this node still could if its condition came out so.
  bool is_possible(const infer::Result& before, ir::Node* node, bool condition) {
    std::unordered_set<const ir::Node*> known;
    for (const infer::Problem& problem : before.problems()) known.insert(problem.node);
    ir::Value* computed = node->input(0);
    node->set_input(0, truth(condition));
    dim::Scope scope;
    const infer::Result facts = infer::infer(model_, scope);
    const auto& problems = facts.problems();
    const bool fails = std::any_of(problems.begin(), problems.end(), [&](const infer::Problem& problem) {
      return problem.node && !known.contains(problem.node) && always_runs(facts, *problem.node, node->graph());
    });
    node->set_input(0, computed);
    return !fails;
  }

  ir::Value* truth(bool value) {
    ir::Value*& known = truth_[value ? 1 : 0];
    if (!known) {
      ir::Graph& graph = *model_.graph;
      const auto byte = static_cast<std::byte>(value ? 1 : 0);
      known = graph.add_initializer(
          ir::Tensor::from_bytes(graph.unique_name("batch_condition"), ir::DataType::kBool, {}, {byte}));
    }
    return known;
  }

  ir::Model& model_;
  std::span<ir::Value* const> inputs_;
  ir::Value* truth_[2] = {nullptr, nullptr};
  int tries_ = 0;
  std::vector<TakenBranch> taken_;
};

}  // namespace

std::vector<ir::Node*> ifs_of(const ir::Graph& graph) {
  std::vector<ir::Node*> found;
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) {
      const std::vector<ir::Node*> within = ifs_of(*inner);
      found.insert(found.end(), within.begin(), within.end());
    }
    if (node->op_type() == "If" && node->domain().empty()) found.push_back(node);
  }
  return found;
}

std::vector<TakenBranch> take_branches(ir::Model& model, std::span<ir::Value* const> inputs) {
  return BranchTaker(model, inputs).run();
}

void require_conditions(ir::Model& model, std::span<const TakenBranch> taken, rewrite::Emitter& emitter) {
  if (taken.empty()) return;
  ir::Graph& graph = *model.graph;
  const ops::Emit end = emitter.at_end(graph);
  ir::Value* broken = nullptr;  // 1 where a condition is not as it must be, else 0
  for (const TakenBranch& one : taken) {
    ir::Value* other = one.value ? end.emit("Not", {one.condition}) : one.condition;
    broken = broken ? end.emit("Or", {broken, other}) : other;
  }
  broken = end.cast(broken, ir::DataType::kInt64);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ir::Value* output = graph.outputs()[i];
    if (output->is_input() || output->type.kind != ir::Type::Kind::kTensor) continue;
    const std::string name = output->name();
    const ir::Type type = output->type;
    ir::Value* checked = end.reshape(output, end.add(end.shape(output), broken));
    graph.set_output(static_cast<int>(i), checked);
    graph.rename(output, graph.unique_name(name + "_unchecked"));
    graph.rename(checked, name);
    checked->set_type(type);
  }
}

}  // namespace thaw::batching
