// If for a device that runs no graphs inside a graph: where both branches work element by element, or multiply a few matrices, and
// can do so whatever the condition is, both are computed and a Where takes one.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/loop_bodies.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kOpsetOfWhere = 9;
constexpr size_t kMostComputed = 64;  // nodes of a branch: those that are not taken are computed in vain
constexpr int kMostMultiplied = 4;    // products of matrices among them

// Sizes that go together at every size: each is the result's, or 1.
bool always_spreads(const ops::Fact& from, const ops::Fact& to) {
  if (!from.is_tensor() || from.rank() < 0 || to.rank() < from.rank()) return false;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const dim::Dim size = from.dim(axis), result = to.dim(to.rank() - from.rank() + axis);
    if (!size.is_constant(1) && !dim::same(size, result)) return false;
  }
  return true;
}

bool multiplies(const ir::Node& node) { return node.op_type() == "MatMul" && node.domain().empty(); }

// Matrices whose sizes go together at every size, and spread over the result's others.
bool multiplies_always(const ir::Node& node, const infer::Inference& facts) {
  const ops::Fact &left = facts.fact(node.input(0)), &right = facts.fact(node.input(1)),
                  &result = facts.fact(node.output(0));
  if (left.rank() < 2 || right.rank() < 2 || result.rank() < 2 || !ir::is_floating(result.dtype)) return false;
  if (!dim::same(left.dim(left.rank() - 1), right.dim(right.rank() - 2))) return false;
  for (const ops::Fact* side : {&left, &right})
    for (int back = 3; back <= side->rank(); ++back) {
      const dim::Dim size = side->dim(side->rank() - back);
      if (!size.is_constant(1) && !dim::same(size, result.dim(result.rank() - back))) return false;
    }
  return true;
}

// Runs whatever its operands hold: an integer divided by zero does not, nor does what its sizes may forbid.
bool runs_always(const ir::Node& node, const infer::Inference& facts) {
  const ops::Operator* entry = ops::registry().find(node);
  if (!entry || !node.domain().empty() || node.outputs().size() != 1 || !node.subgraphs().empty()) return false;
  if (multiplies(node)) return multiplies_always(node, facts);
  const bool only_moves = entry->moves_elements() && node.inputs().size() == 1;  // Identity, Transpose
  if (!entry->deterministic || (!entry->is_elementwise() && !entry->converts && !only_moves)) return false;
  const ops::Fact& result = facts.fact(node.output(0));
  if (!result.is_tensor() || result.rank() < 0 || (ir::is_integer(result.dtype) && node.inputs().size() > 1))
    return false;
  return std::ranges::all_of(
      node.inputs(), [&](const ir::Value* operand) { return operand && always_spreads(facts.fact(operand), result); });
}

bool gives_alike(const ir::Value* a, const ir::Value* b, const infer::Inference& facts) {
  const ops::Fact &one = facts.fact(a), &other = facts.fact(b);
  return one.is_tensor() && one.dtype == other.dtype && have_same_shape(one, other);
}

struct Branches {
  ir::Node* node = nullptr;
  ir::Graph *taken = nullptr, *otherwise = nullptr;
};

std::optional<Branches> mergeable(ir::Node& node, const infer::Inference& facts, std::string& why) {
  const Branches found{&node, graph_of(node, "then_branch").get(), graph_of(node, "else_branch").get()};
  if (!found.taken || !found.otherwise || found.taken->outputs().size() != found.otherwise->outputs().size())
    return std::nullopt;
  for (const ir::Graph* graph : {found.taken, found.otherwise}) {
    const auto nodes = graph->nodes();
    const auto stops =
        std::find_if(nodes.begin(), nodes.end(), [&](const ir::Node* inner) { return !runs_always(*inner, facts); });
    if (stops != nodes.end()) {
      why = fmt::format("{} is not known to run whichever branch is taken", (*stops)->describe());
      return std::nullopt;
    }
    const bool costs_much = nodes.size() > kMostComputed ||
                            std::count_if(nodes.begin(), nodes.end(),
                                          [](const ir::Node* inner) { return multiplies(*inner); }) > kMostMultiplied;
    if (costs_much) why = "computing both branches costs too much";
    if (costs_much || !rewrite::can_splice(*graph)) return std::nullopt;
  }
  const bool is_scalar = facts.fact(node.input(0)).rank() == 0;
  for (size_t i = 0; i < found.taken->outputs().size(); ++i) {
    const ir::Value *one = found.taken->outputs()[i], *other = found.otherwise->outputs()[i];
    if (!gives_alike(one, other, facts) || (!is_scalar && facts.fact(one).rank() < 1)) {
      why = "its branches return other sizes";
      return std::nullopt;
    }
  }
  return found;
}

void merge(ir::Model& model, const Branches& found) {
  const std::string name = rewrite::name_of(*found.node);
  rewrite::splice(*found.taken, found.node, name + "/then");
  rewrite::splice(*found.otherwise, found.node, name + "/else");
  rewrite::Emitter emitter(model, {});
  emitter.set_origin(name);
  const ops::Emit at = emitter.before(found.node);
  std::vector<ir::Value*> results;
  for (size_t i = 0; i < found.taken->outputs().size(); ++i)
    results.push_back(
        at.emit("Where", {found.node->input(0), found.taken->outputs()[i], found.otherwise->outputs()[i]}));
  results.resize(std::min(results.size(), found.node->outputs().size()));
  rewrite::replace_node(found.node, results);
}

}  // namespace

int merge_branches(Context& context) {
  ir::Model& model = context.model;
  if (model.opset("").value_or(0) < kOpsetOfWhere) return 0;
  const infer::Inference& facts = context.facts();
  std::vector<Branches> all;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->subgraphs().empty() || node->op_type() != "If" || !node->domain().empty()) continue;
    std::string why;
    if (const auto found = mergeable(*node, facts, why)) {
      all.push_back(*found);
    } else if (!why.empty()) {
      context.changes.left.push_back(
          {.kind = "directml", .location = node->describe(), .part = {}, .replaced = {}, .why = why});
    }
  }
  if (all.empty()) return 0;
  rewrite::edit_as_one(context, [&] {
    for (const Branches& found : all) {
      context.changes.made.push_back(
          {.kind = "compute both branches", .location = found.node->describe(), .replaced = {{"If", "Where"}}});
      merge(model, found);
    }
    return static_cast<int>(all.size());
  });
  context.look_again();  // the branches' constants have moved
  return static_cast<int>(all.size());
}

}  // namespace thaw::optimizing
