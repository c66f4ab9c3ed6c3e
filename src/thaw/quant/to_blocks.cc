#include "thaw/quant/to_blocks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/inference.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/target/planned_node.h"
#include "thaw/optimize/backend_opset.h"
#include "thaw/quant/blocks/block_writer.h"
#include "thaw/quant/blocks/formats.h"
#include "thaw/quant/blocks/input_signs.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/input_statistics.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

// Bytes of statistics that are gathered in one round over the samples.
constexpr int64_t kMostGathered = int64_t{1} << 29;

// Nodes that read one weight in one way: it is packed once, for all that they multiply it by. With awq, which divides what nodes
// read, also those that read one value.
struct BlockGroup {
  const PrecisionOptions* precision;
  std::vector<ir::Node*> nodes = {};  // lookups last: they read what a product has
  // What its products multiply, as far as it can be seen whole: not inside a Loop or Scan. Positions as they are before anything is
  // changed.
  std::vector<ValueLocation> inputs = {};
  bool has_one_sided_inputs = false;  // all that it multiplies is of one sign, as behind a Relu
};

class Grouper {
 public:
  Grouper(const ir::Model& model, const Precisions& precisions) : precisions_(precisions), locations_(model) {}

  std::vector<BlockGroup> run(const ir::Graph& graph) {
    add(graph);
    std::erase_if(groups_, [](const BlockGroup& group) { return group.nodes.empty(); });
    const blocks::InputSigns signs(graph);
    for (BlockGroup& group : groups_) {
      std::ranges::stable_partition(group.nodes, [](const ir::Node* node) { return blocks::summed_input(*node); });
      group.has_one_sided_inputs = std::ranges::all_of(group.nodes, [&](const ir::Node* node) {
        const ir::Value* input = blocks::summed_input(*node);
        return input && signs.has_one_sign(input);
      });
    }
    return std::move(groups_);
  }

 private:
  // What nodes of one group have in common: a weight and whether it is read transposed, or a value.
  using Shared = std::pair<const ir::Value*, bool>;

  void add(const ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) add(*inner);
      const PrecisionOptions& precision = precisions_.of(*node);
      if (is_blocks(precision.to) && blocks::is_candidate(*node)) add(*node, precision);
    }
  }

  void add(ir::Node& node, const PrecisionOptions& precision) {
    ir::Value* input = blocks::summed_input(node);
    const StoredWeight weight = *blocks::weight_of(node);
    size_t group = united({weight.value, weight.transposed}, precision, groups_.size());
    if (input && precision.blocks.method == BlockMethod::kAwq) group = united({input, false}, precision, group);
    if (group == groups_.size()) groups_.push_back({.precision = &precision});
    groups_[group].nodes.push_back(&node);
    if (!input || !can_be_measured(*input->graph()) || may_run_often(*input->graph())) return;
    std::vector<ValueLocation>& inputs = groups_[group].inputs;
    const ValueLocation location = locations_.of(*input);
    if (std::ranges::find(inputs, location) == inputs.end()) inputs.push_back(location);
  }

  // The group of what is shared, and `other`, as one; the lower number of the two.
  size_t united(const Shared& shared, const PrecisionOptions& precision, size_t other) {
    std::vector<size_t>& known = by_shared_[shared];
    const auto is_alike = [&](size_t i) {
      return groups_[i].precision->to == precision.to && groups_[i].precision->blocks == precision.blocks;
    };
    const auto at = std::ranges::find_if(known, is_alike);
    if (at == known.end()) {
      known.push_back(other);
      return other;
    }
    const size_t first = std::min(*at, other), second = std::max(*at, other);
    if (first == second || second == groups_.size()) return first;
    BlockGroup moved = std::exchange(groups_[second], {.precision = groups_[second].precision});
    BlockGroup& to = groups_[first];
    to.nodes.insert(to.nodes.end(), moved.nodes.begin(), moved.nodes.end());
    for (ValueLocation& location : moved.inputs)
      if (std::ranges::find(to.inputs, location) == to.inputs.end()) to.inputs.push_back(std::move(location));
    for (auto& [what, numbers] : by_shared_) std::ranges::replace(numbers, second, first);
    return first;
  }

  const Precisions& precisions_;
  ValueLocations locations_;
  std::vector<BlockGroup> groups_;
  std::map<Shared, std::vector<size_t>> by_shared_;  // numbers of groups
};

// Of every node of the model, those of graphs inside nodes too, that is to have blocks, in the order of the graph.
std::vector<BlockGroup> block_groups(const ir::Model& model, const Precisions& precisions) {
  return Grouper(model, precisions).run(*model.graph);
}

void leave(const PrecisionOptions& precision, std::string location, std::string why, rewrite::Changes& changes) {
  changes.left.push_back({.kind = std::string(name_of(precision.to)),
                          .location = std::move(location),
                          .part = {},
                          .replaced = {},
                          .nodes = 0,
                          .why = std::move(why)});
}

void leave_to_search(BlockMethod method, std::string location, rewrite::Changes& changes) {
  changes.left.push_back({.kind = method == BlockMethod::kGptq ? "gptq" : "awq",
                          .location = std::move(location),
                          .part = {},
                          .replaced = {},
                          .nodes = 0,
                          .why = "no sample reaches its weight: search quantizes it"});
}

// Of what cannot have weights in blocks, why it has none.
void leave_unsuited(const ir::Graph& graph, const Precisions& precisions, rewrite::Changes& changes) {
  for_nodes(graph, [&](const ir::Node& node) {
    const PrecisionOptions& precision = precisions.of(node);
    if (!is_blocks(precision.to) || blocks::is_candidate(node)) return;
    std::string why = blocks::why_no_candidate(node);
    if (why.empty() && precisions.is_asked_for(node)) why = "it has no weights for block-wise quantization";
    if (!why.empty()) leave(precision, rewrite::name_of(node), std::move(why), changes);
  });
}

int64_t width_of(const ir::Value* input, const infer::Inference& facts) {
  const ops::Fact& fact = facts.fact(input);
  if (!fact.shape || fact.shape->empty()) return 0;
  return fact.shape->back().constant().value_or(0);
}

// Of all that a group's products multiply; none where nothing was seen of it.
std::optional<blocks::ColumnStatistics> statistics_of(const BlockGroup& group, const InputStatistics& seen) {
  std::optional<blocks::ColumnStatistics> all;
  for (const ValueLocation& location : group.inputs) {
    const auto at = seen.find(location);
    if (at == seen.end()) continue;
    if (!all)
      all = at->second;
    else if (all->k() == at->second.k())
      all->add(at->second);
  }
  return all;
}

}  // namespace

void require_blocks(const ConvertOptions& options) {
  for_precisions(options, [](const PrecisionOptions& precision, const std::string& location) {
    if (!is_blocks(precision.to)) return;
    if (std::string why = blocks::why_not(bits_of(precision.to), precision.blocks); !why.empty())
      throw Error(ErrorCode::kInvalidArgument, {.what = std::move(why),
                                                .where = location.empty() ? "block-wise quantized weights" : location,
                                                .expected = "options of one form of blocks",
                                                .next = "docs/guide/convert.md lists what goes together"});
  });
}

void raise_opset_for_blocks(ir::Model& model, const ConvertOptions& options, const ops::Target& target) {
  int64_t needed = 1;
  for_precisions(options, [&](const PrecisionOptions& precision, const std::string&) {
    if (is_blocks(precision.to))
      needed = std::max(needed, blocks::opset_needed(bits_of(precision.to), precision.blocks));
  });
  if (model.opset("").value_or(1) >= needed) return;
  rewrite::PassContext context(model);
  if (ops::has_kernel_table(target))
    optimizing::change_to_opset_of(*target.domain(""), context, needed);
  else
    rewrite::change_opset(context, needed);
}

int to_blocks(rewrite::PassContext& context, const Precisions& precisions, const Samples* samples,
              const ops::Target& target) {
  ir::Model& model = context.model;
  rewrite::Changes& changes = context.changes;
  const size_t made_before = changes.made.size();
  leave_unsuited(*model.graph, precisions, changes);
  const std::vector<BlockGroup> groups = block_groups(model, precisions);
  const std::vector<ir::Graph*> graphs = rewrite::all_graphs(*model.graph);
  const std::unique_ptr<ir::Model> before = samples ? ir::clone(model) : nullptr;
  const infer::Inference& facts = context.facts();
  blocks::BlockWriter writer(context, samples ? samples->remembered() : nullptr, &target);
  for (size_t first = 0; first < groups.size();) {
    // As many at once as statistics may be held of.
    std::set<ValueLocation> asked;
    bool with_products = false;
    size_t last = first;
    for (int64_t held = 0; last < groups.size(); ++last) {
      const BlockGroup& group = groups[last];
      if (needs_data(group.precision->blocks.method) && !samples)
        throw Error(ErrorCode::kInvalidArgument, {.what = "the method needs calibration samples",
                                                  .where = "gptq and awq",
                                                  .expected = "--data, an .npz file of inputs or a folder of them"});
      if (!samples) continue;
      const bool products = group.precision->blocks.method == BlockMethod::kGptq;
      int64_t more = 0;
      for (const ValueLocation& location : group.inputs)
        if (const int64_t width = width_of(graphs[location.graph]->find(location.name), facts);
            products && !asked.contains(location))
          more += 4 * width * width;
      if (held > 0 && held + more > kMostGathered && products) break;
      held += more;
      with_products = with_products || products;
      asked.insert(group.inputs.begin(), group.inputs.end());
    }
    const InputStatistics seen = asked.empty()
                                     ? InputStatistics()
                                     : input_statistics(*before, {asked.begin(), asked.end()}, with_products, *samples);
    for (; first < last; ++first) {
      const BlockGroup& group = groups[first];
      std::vector<std::string> locations;
      for (const ir::Node* node : group.nodes) locations.push_back(rewrite::name_of(*node));
      const std::optional<blocks::ColumnStatistics> statistics = statistics_of(group, seen);
      BlockOptions options = group.precision->blocks;
      if (needs_data(options.method) && !statistics) {
        // Of a table, inside a Loop or Scan, or in a branch that no sample takes.
        for (size_t i = 0; i < locations.size(); ++i)
          if (blocks::summed_input(*group.nodes[i])) leave_to_search(options.method, locations[i], changes);
        options.method = BlockMethod::kSearch;
      }
      const std::vector<std::string> reasons =
          writer.write(group.nodes, bits_of(group.precision->to), options, statistics ? &*statistics : nullptr,
                       group.has_one_sided_inputs);
      for (size_t i = 0; i < reasons.size(); ++i)
        if (!reasons[i].empty()) leave(*group.precision, locations[i], reasons[i], changes);
    }
  }
  return static_cast<int>(changes.made.size() - made_before);
}

}  // namespace thaw::quantizing
