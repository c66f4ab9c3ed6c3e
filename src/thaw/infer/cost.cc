#include "thaw/infer/cost.h"

#include <unordered_map>

#include "thaw/infer/facts_view.h"
#include "thaw/infer/rounds.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {

using dim::Dim;

namespace {

class Adder {
 public:
  Adder(const ir::Model& model, const Result& facts) : model_(model), facts_(facts) {}

  void add(const ir::Graph& graph) {
    for_runs(graph, model_, facts_, [&](const ir::Node& node, Dim times) {
      const auto [at, fresh] = positions_.try_emplace(ir::operator_name(node), sum_.operators.size());
      if (fresh) sum_.operators.push_back({.op = at->first});
      const Cost cost = cost_of(node, model_, facts_) * times;
      add(sum_.operators[at->second], cost);
      add(sum_.total, cost);
    });
  }

  ModelCost take() { return std::move(sum_); }

 private:
  static void add(OperatorCost& sum, const Cost& cost) {
    ++sum.nodes;
    if (cost.flops.is_known()) {
      sum.cost.flops = sum.cost.flops + cost.flops;
    } else {
      ++sum.without_flops;
    }
    if (cost.bytes.is_known()) {
      sum.cost.bytes = sum.cost.bytes + cost.bytes;
    } else {
      ++sum.without_bytes;
    }
  }

  const ir::Model& model_;
  const Result& facts_;
  ModelCost sum_;
  std::unordered_map<std::string, size_t> positions_;
};

}  // namespace

dim::Assignment assumed_sizes(const dim::Scope& scope, const std::vector<std::pair<std::string, int64_t>>& sizes) {
  constexpr int64_t kAssumedSize = 64;
  dim::Assignment values;
  const std::vector<dim::SymbolInfo>& symbols = scope.symbols();
  for (size_t id = 0; id < symbols.size(); ++id) {
    values[static_cast<int>(id)] = kAssumedSize;
    for (const auto& [name, size] : sizes)
      if (symbols[id].name == name) values[static_cast<int>(id)] = size;
  }
  return values;
}

dim::Dim bytes_of(const ops::Fact& fact) {
  constexpr int64_t kBitsInByte = 8;
  const auto bits = static_cast<int64_t>(ir::bits_of(fact.dtype));
  if (!fact.is_tensor() || bits == 0) return {};
  const Dim elements = fact.num_elements();
  return bits >= kBitsInByte ? elements * (bits / kBitsInByte) : dim::ceil_div(elements * bits, kBitsInByte);
}

Cost operator*(const Cost& one, Dim times) {
  if (times.is_constant(0)) return {0, 0};
  return {one.flops * times, one.bytes * times};
}

Cost cost_of(const ir::Node& node, const ir::Model& model, const Result& facts) {
  if (node.constant()) return {0, 0};
  NodeFacts view(facts, model, node);
  Cost cost{ops::flops_of(view), 0};
  const auto add = [&](const ir::Value* value) {
    if (value) cost.bytes = cost.bytes + bytes_of(facts.fact(value));
  };
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!ops::is_unread(ops::role_of(node, static_cast<int>(i)))) add(node.input(static_cast<int>(i)));
  for (const ir::Value* output : node.outputs()) add(output);
  return cost;
}

Cost cost_with_graphs(const ir::Node& node, const ir::Model& model, const Result& facts) {
  Cost sum = cost_of(node, model, facts);
  for_runs_inside(node, model, facts, 1, [&](const ir::Node& inner, Dim times) {
    const Cost cost = cost_of(inner, model, facts) * times;
    sum = {sum.flops + cost.flops, sum.bytes + cost.bytes};
  });
  return sum;
}

ModelCost cost_of(const ir::Model& model, const Result& facts) {
  Adder adder(model, facts);
  adder.add(*model.graph);
  return adder.take();
}

MovedBytes bytes_moved(const ir::Model& model) {
  dim::Scope scope;
  const Result facts = infer(model, scope);
  const dim::Assignment sizes = assumed_sizes(scope);
  MovedBytes moved;
  for_runs(*model.graph, model, facts, [&](const ir::Node& node, Dim times) {
    const Dim all = (cost_of(node, model, facts) * times).bytes;
    const auto bytes = all.is_known() ? dim::evaluate(all, sizes) : std::nullopt;
    if (bytes && *bytes >= 0) {
      moved.bytes += static_cast<uint64_t>(*bytes);
    } else {
      ++moved.unknown;
    }
  });
  return moved;
}

}  // namespace thaw::infer
