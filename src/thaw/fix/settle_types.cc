// Casts where float16, bfloat16 and float32 still meet after no one Cast's `to` and no one constant would fix it.
//
// Nodes are gone through in order, with the types that what stands before them has by then. Where operands of one type parameter are
// of several, those that count most decide (weights, what the readers of the result have beside it, what an output is declared as),
// and the others are cast. What a body returns has the type of what it is carried into, and both branches return the same.
#include "thaw/fix/settle_types.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::fixing {
namespace {

using ir::DataType;
using ir::Node;
using ir::Value;

constexpr DataType kTypes[] = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};

bool is_settled(DataType type) { return std::ranges::find(kTypes, type) != std::end(kTypes); }

class TypeSettler {
 public:
  TypeSettler(ir::Model& model, std::vector<Change>& made)
      : model_(model), made_(made), facts_(infer::infer(model, scope_)), nodes_(model, "thaw") {}

  int run() {
    walk(*model_.graph);
    const auto outputs = model_.graph->outputs();
    for (int i = 0; i < static_cast<int>(outputs.size()); ++i) keep_declared(i);
    return count_;
  }

 private:
  void walk(ir::Graph& graph) {
    const std::vector<Node*> nodes(graph.nodes().begin(), graph.nodes().end());
    for (Node* node : nodes) {
      if (const auto graphs = node->subgraphs(); !graphs.empty()) {
        settle_bodies(*node);
      } else {
        settle(*node);
      }
    }
  }

  DataType type_of(const Value* value) const {
    if (!value) return DataType::kUndefined;
    if (const ir::Tensor* constant = value->constant()) return constant->data_type;
    if (const auto at = types_.find(value); at != types_.end()) return at->second;
    const ops::Fact& fact = facts_.fact(value);
    if (fact.is_tensor() && fact.dtype != DataType::kUndefined) return fact.dtype;
    return value->type.elem_type;
  }

  // What a value is of from now on; what is declared of it is said anew.
  void set_type(Value* value, DataType type) {
    if (!value || !is_settled(type)) return;
    types_[value] = type;
    if (value->is_output() && value->graph() == model_.graph.get()) return;
    if (value->type.elem_type == type || !is_settled(value->type.elem_type)) return;
    tell(value->name(), "declaration", value->type.elem_type, type);
    ir::Type declared = value->type;
    declared.elem_type = type;
    value->set_type(std::move(declared));
  }

  void settle(Node& node) {
    const auto types = ops::operand_types(model_, node);
    if (!types) return;
    std::map<std::string, std::vector<int>, std::less<>> groups;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const std::string_view type = types->input(static_cast<size_t>(i));
      if (!node.input(i) || type.empty() || !is_settled(type_of(node.input(i)))) continue;
      groups[std::string(type)].push_back(i);
    }
    std::map<std::string, DataType, std::less<>> chosen;
    for (const auto& [type, operands] : groups) {
      const auto wanted = choose(node, *types, type, operands);
      if (!wanted) continue;
      chosen[type] = *wanted;
      for (const int i : operands)
        if (type_of(node.input(i)) != *wanted) cast_operand(node, i, *wanted);
    }
    for (int k = 0; k < static_cast<int>(node.outputs().size()); ++k)
      if (const auto at = chosen.find(types->output(static_cast<size_t>(k))); at != chosen.end())
        set_type(node.output(k), at->second);
  }

  // The type that the operands become; nullopt where the operator takes none of them.
  std::optional<DataType> choose(const Node& node, const ir::OperandTypes& types, std::string_view type,
                                 const std::vector<int>& operands) const {
    std::map<DataType, int> votes;
    for (const DataType t : kTypes)
      if (types.takes(type, t)) votes[t] = 0;
    const auto vote = [&](DataType t, int weight) {
      if (const auto at = votes.find(t); at != votes.end()) at->second += weight;
    };
    bool is_one = true;
    for (const int i : operands) {
      const Value* operand = node.input(i);
      const DataType own = type_of(operand);
      is_one &= own == type_of(node.input(operands.front()));
      const ir::Tensor* constant = operand->constant();
      vote(own, !constant ? kComputed : constant->num_elements() > 1 ? kWeights : 0);
      // What has no room in float16 would be an infinity.
      if (constant && own == DataType::kFloat && !has_space(*constant)) vote(own, kMost);
    }
    const DataType first = type_of(node.input(operands.front()));
    if (is_one && votes.contains(first)) return first;
    for (int k = 0; k < static_cast<int>(node.outputs().size()); ++k)
      if (const Value* made = node.output(k); made && types.output(static_cast<size_t>(k)) == type)
        vote_of_readers(*made, vote);
    std::optional<DataType> best;
    for (const DataType t : kTypes)  // of equals the wider
      if (votes.contains(t) && (!best || votes.at(t) > votes.at(*best))) best = t;
    return best;
  }

  template <typename Vote>
  void vote_of_readers(const Value& made, const Vote& vote) const {
    if (made.is_output() && is_settled(made.type.elem_type)) vote(made.type.elem_type, kComputed);
    for (const ir::Use& use : made.uses()) {
      const auto types = ops::operand_types(model_, *use.node);
      for (int i = 0; types && i < static_cast<int>(use.node->inputs().size()); ++i) {
        const bool is_sibling = i != use.index && use.node->input(i) &&
                                types->input(static_cast<size_t>(i)) == types->input(static_cast<size_t>(use.index));
        if (is_sibling) vote(type_of(use.node->input(i)), 1);
      }
    }
  }

  static bool has_space(const ir::Tensor& constant) {
    constexpr int64_t kMostLooked = 1 << 16;
    constexpr double kLargestHalf = 65504;
    if (constant.num_elements() > kMostLooked) return true;
    try {
      return std::ranges::all_of(constant.to_double(), [](double v) { return !(std::abs(v) > kLargestHalf); });
    } catch (const std::exception&) {
      return true;  // its bytes cannot be read
    }
  }

  void tell(const std::string& location, std::string part, DataType from, DataType to) {
    made_.push_back(
        {"THAW021", location, std::move(part), {{std::string(ir::name_of(from)), std::string(ir::name_of(to))}}});
    ++count_;
  }

  void cast_operand(Node& node, int i, DataType to) {
    Value* operand = node.input(i);
    const DataType from = type_of(operand);
    Value*& cast = casts_[{operand, to, node.graph()}];
    if (!cast) {
      cast = nodes_.before(&node).cast(operand, to);
      types_[cast] = to;
      tell(node.describe(), "operand '" + operand->name() + "' by a Cast", from, to);
    }
    node.set_input(i, cast);
  }

  // The graphs of a node: what they take is of the type of what they are given, and what they return of one type for all.
  void settle_bodies(Node& node) {
    std::vector<ir::Graph*> bodies;
    for (ir::Graph* body : node.subgraphs()) bodies.push_back(body);
    const auto states = static_cast<int64_t>(node.inputs().size()) - node.attribute_int("num_scan_inputs", 0);
    for (ir::Graph* body : bodies) {
      if (body->inputs().size() == node.inputs().size())
        for (size_t i = 0; i < body->inputs().size(); ++i)
          if (const DataType given = type_of(node.input(static_cast<int>(i))); is_settled(given))
            set_type(body->inputs()[i], given);
      walk(*body);
    }
    for (int k = 0; k < static_cast<int>(node.outputs().size()); ++k) {
      std::optional<DataType> type;
      for (ir::Graph* body : bodies) {
        const auto shift = static_cast<int64_t>(body->outputs().size()) - static_cast<int64_t>(node.outputs().size());
        if (shift < 0 || shift > 1) return;
        const int64_t at = k + shift, carried = at + shift;
        const bool is_carried = body->inputs().size() == node.inputs().size() && carried < states;
        const Value* returned = body->outputs()[static_cast<size_t>(at)];
        const DataType made = type_of(returned);
        if (!is_settled(made)) continue;
        const DataType wanted = is_carried ? type_of(body->inputs()[static_cast<size_t>(carried)]) : made;
        // Of two branches the wider.
        if (!type || wanted == DataType::kFloat) type = wanted;
      }
      if (!type || !is_settled(*type)) continue;
      for (ir::Graph* body : bodies) {
        const auto shift = static_cast<int>(body->outputs().size() - node.outputs().size());
        return_as(*body, k + shift, *type);
      }
      set_type(node.output(k), *type);
    }
  }

  void return_as(ir::Graph& body, int at, DataType to) {
    Value* returned = body.outputs()[static_cast<size_t>(at)];
    const DataType from = type_of(returned);
    if (!is_settled(from)) return;
    if (from == to) return set_type(returned, to);
    Value* cast = nodes_.at_end(body).cast(returned, to);
    ir::Type type = returned->type;
    type.elem_type = to;
    cast->set_type(std::move(type));
    types_[cast] = to;
    set_type(returned, from);
    body.set_output(at, cast);
    tell(returned->name(), "by a Cast", from, to);
  }

  // An output of the model is what it is declared as.
  void keep_declared(int at) {
    ir::Graph& graph = *model_.graph;
    Value* output = graph.outputs()[static_cast<size_t>(at)];
    const DataType declared = output->type.elem_type, made = type_of(output);
    if (!is_settled(declared) || !is_settled(made) || declared == made || output->is_input() || output->constant())
      return;
    const std::string name = output->name();
    Node* maker = output->producer();
    const ops::Operator* op = maker ? ops::registry().find(*maker) : nullptr;
    if (op && op->converts && maker->attribute("to") && output->uses().empty()) {
      maker->set_attribute({"to", static_cast<int64_t>(declared)});
      return tell(maker->describe(), "to", made, declared);
    }
    const ir::Type type = output->type;
    Value* cast = nodes_.at_end(graph).cast(output, declared);
    cast->set_type(type);
    graph.set_output(at, cast);
    ir::Type own = type;
    own.elem_type = made;
    output->set_type(std::move(own));
    graph.rename(output, graph.unique_name(name + "_" + std::string(ir::name_of(made))));
    graph.rename(cast, name);
    tell(name, "by a Cast", made, declared);
  }

  static constexpr int kComputed = 2, kWeights = 3, kMost = 1000;

  ir::Model& model_;
  std::vector<Change>& made_;
  dim::Scope scope_;
  const infer::Result facts_;
  rewrite::Emitter nodes_;
  std::unordered_map<const Value*, DataType> types_;
  std::map<std::tuple<const Value*, DataType, const ir::Graph*>, Value*> casts_;
  int count_ = 0;
};

}  // namespace

int settle_types(ir::Model& model, std::vector<Change>& made) { return TypeSettler(model, made).run(); }

}  // namespace thaw::fixing
