#include "thaw/lift/align/even_out.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "thaw/infer/inference.h"
#include "thaw/lift/align/align.h"
#include "thaw/lift/align/fold_sizes.h"
#include "thaw/lift/align/folded_pads.h"
#include "thaw/lift/align/joined_zeros.h"
#include "thaw/lift/align/pair_nodes.h"
#include "thaw/lift/align/plain_nodes.h"
#include "thaw/lift/align/pools.h"
#include "thaw/lift/align/transposed_sizes.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/fold.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

constexpr uint64_t kMostFolded = uint64_t{1} << 26;  // bytes that tables may add to a trace

// Large constants that every trace has, by name: what was learned.
std::set<std::string> names_of_weights(const std::vector<Trace>& traces) {
  constexpr int64_t kFewest = 64;
  std::map<std::string, size_t> seen;
  for (const Trace& trace : traces) {
    for (const ir::Value* value : trace.model->graph->initializers()) {
      const ir::Tensor& tensor = *value->initializer();
      if (!ir::is_floating(tensor.data_type) || tensor.num_elements() < kFewest) continue;
      const ir::Value* first = traces.front().model->graph->find(value->name());
      if (first && first->initializer() && first->initializer()->dims == tensor.dims) ++seen[value->name()];
    }
  }
  std::set<std::string> names;
  for (const auto& [name, count] : seen)
    if (count == traces.size()) names.insert(name);
  return names;
}

// All else that reads nothing but constants: with weights, where they are not to be kept.
void fold_tables(ir::Model& model, const std::set<std::string>& keep) {
  rewrite::PassContext context(model);
  rewrite::FoldOptions options{.most_growth = kMostFolded};
  for (const std::string& name : keep) options.keep.insert(model.graph->find(name));
  rewrite::fold_constants(context, options);
  rewrite::remove_unused(model);
}

// Each node a constant of its own: numbers that are equal in the first trace may differ in others.
void unshare_constants(ir::Model& model) {
  constexpr int64_t kMostNumbers = 64;
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const ir::Value* value = node->input(i);
      if (!value || value->is_input() || !value->constant() || value->uses().size() < 2) continue;
      if (value->constant()->num_elements() > kMostNumbers) continue;
      ir::Tensor copy = *value->constant();
      copy.name = graph.unique_name(value->name());
      node->set_input(i, graph.add_initializer(std::move(copy)));
    }
  }
}

// A trace with the sizes of all its values, those of nodes that are put there too.
struct SizedTrace {
  explicit SizedTrace(ir::Model& of) : model(of) {
    dim::Scope scope;
    const infer::Result facts = infer::infer(model, scope);
    const auto note = [&](const ir::Value* value) {
      if (const auto shape = ops::constant_shape(facts.fact(value).shape)) sizes[value] = *shape;
    };
    for (const ir::Value* input : model.graph->inputs()) note(input);
    for (ir::Node* node : model.graph->nodes()) {
      if (node->constant()) continue;
      nodes.push_back(node);
      for (const ir::Value* output : node->outputs())
        if (output) note(output);
    }
  }

  PairSide side() const {
    return {model.graph.get(), nodes, [this](const ir::Value* value) -> std::optional<Sizes> {
              const auto known = sizes.find(value);
              return known == sizes.end() ? std::nullopt : std::optional(known->second);
            }};
  }

  ir::Model& model;
  std::vector<ir::Node*> nodes;
  std::unordered_map<const ir::Value*, Sizes> sizes;
};

// Whether each node that is left out has sizes there.
bool can_fill(const Pairing& pairing, const SizedTrace& trace, int side) {
  std::unordered_map<size_t, std::optional<Sizes>> made;  // by value
  std::vector<const ir::Value*> values(trace.model.graph->inputs().begin(), trace.model.graph->inputs().end());
  for (const NodePair& pair : pairing.nodes) {
    values.resize(pair.first_result);
    if (pair.node[side]) {
      values.insert(values.end(), pair.node[side]->outputs().begin(), pair.node[side]->outputs().end());
      continue;
    }
    if (pair.twin) {
      const NodePair& single = pairing.nodes[*pair.twin];
      for (size_t i = 0; i < single.node[side]->outputs().size(); ++i) {
        const ir::Value* there = values[single.first_result + i];
        values.push_back(there);
      }
      continue;
    }
    const size_t data = *pair.reads.back();
    std::optional<Sizes> sizes;
    if (const auto known = made.find(data); known != made.end()) {
      sizes = known->second;
    } else if (const auto there = trace.sizes.find(values[data]); there != trace.sizes.end()) {
      sizes = there->second;
    }
    if (sizes) sizes = neutral_sizes(*pair.optional, *sizes);
    if (!sizes) return false;
    made[pair.first_result] = sizes;
    values.push_back(nullptr);
  }
  return true;
}

// A name that no node of the trace has.
std::string free_name(const std::string& name, std::set<std::string>& taken) {
  if (name.empty()) return name;
  std::string free = name;
  for (int i = 1; !taken.insert(free).second; ++i) free = name + "_" + std::to_string(i);
  return free;
}

// A node that stands for two, once more: reading what its pair reads, and constants of its own where the two read two.
ir::Node* copy_of(const ir::Node& single, const Pairing& pairing, const NodePair& pair, int side,
                  const std::vector<ir::Value*>& values, SizedTrace& trace, ir::Node* before) {
  ir::Graph& graph = *trace.model.graph;
  const ir::Node &one = *pairing.nodes[*pair.twin].node[1 - side], &other = *pair.node[1 - side];
  std::vector<ir::Value*> inputs(single.inputs().begin(), single.inputs().end()), outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (pair.reads[i]) {
      inputs[i] = values[*pair.reads[i]];
    } else if (inputs[i] && inputs[i]->constant() &&
               one.input(static_cast<int>(i)) != other.input(static_cast<int>(i))) {
      ir::Tensor copy = *inputs[i]->constant();
      copy.name = graph.unique_name(inputs[i]->name());
      inputs[i] = graph.add_initializer(std::move(copy));
    }
  }
  for (const ir::Value* output : single.outputs())
    outputs.push_back(output ? graph.add_value(graph.unique_name(output->name())) : nullptr);
  ir::Node* copy =
      graph.add_node(single.op_type(), single.domain(), std::move(inputs), std::move(outputs), single.name, before);
  for (const ir::Attribute& attribute : single.attributes()) copy->set_attribute(attribute);
  for (size_t i = 0; i < copy->outputs().size(); ++i) {
    const auto known = trace.sizes.find(single.output(static_cast<int>(i)));
    if (known != trace.sizes.end()) trace.sizes[copy->output(static_cast<int>(i))] = Sizes(known->second);
  }
  return copy;
}

// Puts the nodes that a trace lacks into it, and has every node read what its pair reads.
void fill(const Pairing& pairing, SizedTrace& trace, int side, const std::vector<ir::Node*>& nodes) {
  ir::Graph& graph = *trace.model.graph;
  std::vector<ir::Value*> values(graph.inputs().begin(), graph.inputs().end());
  std::vector<ir::Node*> all;
  std::set<std::string> names;
  for (const ir::Node* node : graph.nodes()) names.insert(node->name);
  for (size_t i = 0, next = 0; i < pairing.nodes.size(); ++i) {
    const NodePair& pair = pairing.nodes[i];
    values.resize(pair.first_result);
    ir::Node* before = next < nodes.size() ? nodes[next] : nullptr;
    if (!pair.node[side] && pair.twin) {
      ir::Node* copy = copy_of(*all[*pair.twin], pairing, pair, side, values, trace, before);
      copy->name = free_name(copy->name, names);
      values.insert(values.end(), copy->outputs().begin(), copy->outputs().end());
      all.push_back(copy);
      continue;
    }
    if (!pair.node[side]) {
      ir::Value* data = values[*pair.reads.back()];
      const Sizes sizes = trace.sizes.at(data);
      ir::Value* result = put_neutral(*pair.optional, data, sizes, graph, before);
      trace.sizes[result] = *neutral_sizes(*pair.optional, sizes);
      result->producer()->name = free_name(pair.optional->node->name, names);
      values.push_back(result);
      all.push_back(result->producer());
      continue;
    }
    ir::Node* node = nodes[next++];
    all.push_back(node);
    for (int operand = 0; operand < static_cast<int>(pair.reads.size()); ++operand) {
      const auto& read = pair.reads[static_cast<size_t>(operand)];
      if (read && values[*read] != node->input(operand)) node->set_input(operand, values[*read]);
    }
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
  }
  for (size_t i = 0; i < pairing.outputs.size(); ++i) {
    if (!pairing.outputs[i]) continue;
    ir::Value *output = graph.outputs()[i], *wanted = values[*pairing.outputs[i]];
    if (output == wanted) continue;
    const std::string name = output->name();
    const ir::Type type = output->type;
    graph.set_output(static_cast<int>(i), wanted);
    graph.rename(output, graph.unique_name(name + "_before"));
    graph.rename(wanted, name);
    wanted->set_type(type);
  }
  trace.nodes = std::move(all);
}

// Whether the traces could be made to have the same nodes.
bool fill_all(std::vector<Trace>& traces) {
  std::vector<SizedTrace> sized;
  sized.reserve(traces.size());
  for (Trace& trace : traces) sized.emplace_back(*trace.model);
  for (size_t k = 1; k < sized.size(); ++k) {
    const auto pairing = pair_nodes(sized[0].side(), sized[k].side());
    if (!pairing || !can_fill(*pairing, sized[0], 0) || !can_fill(*pairing, sized[k], 1)) return false;
    // The traces before stand node by node beside the first.
    for (size_t j = 0; j < k; ++j) fill(*pairing, sized[j], 0, std::vector<ir::Node*>(sized[j].nodes));
    fill(*pairing, sized[k], 1, std::vector<ir::Node*>(sized[k].nodes));
  }
  return true;
}

// A node that was put into a trace is spelt out in all of them, by the sizes that it has in each. before: what the
// traces had.
void spell_all(std::vector<Trace>& traces, const std::unordered_set<const ir::Node*>& before) {
  std::vector<SizedTrace> sized;
  sized.reserve(traces.size());
  for (Trace& trace : traces) sized.emplace_back(*trace.model);
  for (size_t i = 0; i < sized[0].nodes.size(); ++i) {
    const bool is_old =
        std::ranges::all_of(sized, [&](const SizedTrace& trace) { return before.contains(trace.nodes[i]); });
    if (is_old) continue;
    for (SizedTrace& trace : sized) {
      const auto of = trace.side().sizes;
      ir::Node* node = trace.nodes[i];
      if (auto optional = optional_node(*node, of)) spell_out(*optional, *trace.model.graph);
    }
  }
}

bool even(std::vector<Trace>& traces, const std::unordered_set<const ir::Node*>& before) {
  if (!fill_all(traces)) return false;
  spell_all(traces, before);
  unshare_constants(*traces.front().model);
  return aligned(traces);
}

}  // namespace

void even_out(std::vector<Trace>& traces) {
  for (Trace& trace : traces) fold_pads(*trace.model);
  take_pads_before(traces);
  if (aligned(traces)) return;
  unshare_constants(*traces.front().model);
  if (aligned(traces)) return;
  for (Trace& trace : traces) fold_sizes(*trace.model);
  for (Trace& trace : traces) write_joined_zeros_as_pads(*trace.model);
  for (Trace& trace : traces) write_parted_pools_as_products(*trace.model);
  part_pads_alike(traces);
  cut_transposed_alike(traces);
  for (Trace& trace : traces) write_plainly(*trace.model);
  unshare_constants(*traces.front().model);
  std::unordered_set<const ir::Node*> before;
  for (const Trace& trace : traces)
    for (const ir::Node* node : trace.model->graph->nodes()) before.insert(node);
  if (aligned(traces) || even(traces, before)) return;
  // Tables that were folded at some sizes only; then those that are made of what was learned.
  for (const std::set<std::string>& keep : {names_of_weights(traces), std::set<std::string>()}) {
    for (Trace& trace : traces) fold_tables(*trace.model, keep);
    if (aligned(traces) || even(traces, before)) return;
  }
}

}  // namespace thaw::lifting
