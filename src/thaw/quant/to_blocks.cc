#include "thaw/quant/to_blocks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/inference.h"
#include "thaw/quant/block_groups.h"
#include "thaw/quant/blocks/converter.h"
#include "thaw/quant/blocks/formats.h"
#include "thaw/quant/blocks/unsuited.h"
#include "thaw/quant/blocks/weight_nodes.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/input_statistics.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

// Bytes of statistics that are gathered in one round over the samples.
constexpr int64_t kMostGathered = int64_t{1} << 29;

void leave(const PrecisionOptions& precision, std::string place, std::string why, rewrite::Changes& changes) {
  changes.left.push_back({.kind = std::string(name_of(precision.to)),
                          .place = std::move(place),
                          .part = {},
                          .replaced = {},
                          .nodes = 0,
                          .why = std::move(why)});
}

void leave_to_search(BlockMethod method, std::string place, rewrite::Changes& changes) {
  changes.left.push_back({.kind = method == BlockMethod::kGptq ? "gptq" : "awq",
                          .place = std::move(place),
                          .part = {},
                          .replaced = {},
                          .nodes = 0,
                          .why = "no sample shows what its weight multiplies: search chooses its codes"});
}

// Of what cannot have weights in blocks, why it has none.
void leave_unsuited(const ir::Graph& graph, const Precisions& precisions, rewrite::Changes& changes) {
  for_nodes(graph, [&](const ir::Node& node) {
    const PrecisionOptions& precision = precisions.of(node);
    if (!is_blocks(precision.to) || blocks::is_candidate(node)) return;
    std::string why = blocks::why_no_candidate(node);
    if (why.empty() && precisions.is_asked_for(node)) why = "it has no weights that could lie in blocks";
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
  for (const ValuePlace& place : group.inputs) {
    const auto at = seen.find(place);
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
  for_precisions(options, [](const PrecisionOptions& precision, const std::string& place) {
    std::string why = is_blocks(precision.to) ? blocks::why_not(bits_of(precision.to), precision.blocks) : "";
    if (!why.empty())
      throw Error(ErrorCode::kInvalidArgument, {.what = std::move(why),
                                                .where = place.empty() ? "weights in blocks" : place,
                                                .expected = "2, 3, 4 or 8 bits, in blocks of 16, 32, 64, 128 or 256"});
  });
}

void raise_opset_for_blocks(ir::Model& model, const ConvertOptions& options) {
  int64_t needed = 1;
  for_precisions(options, [&](const PrecisionOptions& precision, const std::string&) {
    if (is_blocks(precision.to))
      needed = std::max(needed, blocks::opset_needed(bits_of(precision.to), precision.blocks));
  });
  if (model.opset("").value_or(1) >= needed) return;
  rewrite::Changes changes;
  rewrite::change_opset(model, needed, changes);
}

rewrite::Changes to_blocks(ir::Model& model, const Precisions& precisions, const Samples* samples) {
  rewrite::Changes changes;
  leave_unsuited(*model.graph, precisions, changes);
  const std::vector<BlockGroup> groups = block_groups(model, precisions);
  const std::vector<ir::Graph*> graphs = rewrite::all_graphs(*model.graph);
  const std::unique_ptr<ir::Model> before = samples ? ir::clone(model) : nullptr;
  dim::Scope scope;
  infer::Inference facts(model, scope);
  blocks::Converter converter(model, facts, samples ? samples->remembered() : nullptr);
  for (size_t first = 0; first < groups.size();) {
    // As many at once as statistics may be held of.
    std::set<ValuePlace> asked;
    bool with_products = false;
    size_t last = first;
    for (int64_t held = 0; last < groups.size(); ++last) {
      const BlockGroup& group = groups[last];
      if (needs_data(group.precision->blocks.method) && !samples)
        throw Error(ErrorCode::kInvalidArgument, {.what = "the method needs to see what the weights multiply",
                                                  .where = "gptq and awq",
                                                  .expected = "--data, an .npz file of inputs or a folder of them"});
      if (!samples) continue;
      const bool products = group.precision->blocks.method == BlockMethod::kGptq;
      int64_t more = 0;
      for (const ValuePlace& place : group.inputs)
        if (const int64_t width = width_of(graphs[place.graph]->find(place.name), facts);
            products && !asked.contains(place))
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
      std::vector<std::string> places;
      for (const ir::Node* node : group.nodes) places.push_back(rewrite::name_of(*node));
      const std::optional<blocks::ColumnStatistics> statistics = statistics_of(group, seen);
      BlockOptions options = group.precision->blocks;
      if (needs_data(options.method) && !statistics) {
        // Of a table, inside a Loop or Scan, or in a branch that no sample takes.
        for (size_t i = 0; i < places.size(); ++i)
          if (blocks::summed_input(*group.nodes[i])) leave_to_search(options.method, places[i], changes);
        options.method = BlockMethod::kSearch;
      }
      const std::vector<std::string> reasons =
          converter.convert(group.nodes, bits_of(group.precision->to), options, statistics ? &*statistics : nullptr,
                            changes, group.has_one_sided_inputs);
      for (size_t i = 0; i < reasons.size(); ++i)
        if (!reasons[i].empty()) leave(*group.precision, places[i], reasons[i], changes);
    }
  }
  return changes;
}

}  // namespace thaw::quantizing
