#include "thaw/quant/to_blocks.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/inference.h"
#include "thaw/quant/blocks/converter.h"
#include "thaw/quant/blocks/unsuited.h"
#include "thaw/quant/input_statistics.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

// Bytes of statistics that are gathered in one round over the samples.
constexpr int64_t kMostHeld = int64_t{1} << 29;

// Nodes that read one value and get weights of one kind: awq divides what they read for all of them.
struct Group {
  ir::Value* input;  // null of lookups
  const PrecisionOptions* precision;
  std::vector<ir::Node*> nodes;
  std::string name = {};  // of the input, as the model had it before anything was changed
};

void leave(const PrecisionOptions& precision, std::string place, std::string why, rewrite::Changes& changes) {
  changes.left.push_back({.kind = std::string(name_of(precision.to)),
                          .place = std::move(place),
                          .part = {},
                          .replaced = {},
                          .nodes = 0,
                          .why = std::move(why)});
}

class Grouper {
 public:
  // `changes`: what is left, and why.
  Grouper(const Precisions& precisions, rewrite::Changes& changes) : precisions_(precisions), changes_(changes) {}

  std::vector<Group> run(const ir::Graph& graph) {
    add(graph, true);
    return std::move(groups_);
  }

 private:
  void add(const ir::Graph& graph, bool is_main) {
    for (ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) add(*inner, false);
      const PrecisionOptions& precision = precisions_.of(*node);
      if (!is_blocks(precision.to)) continue;
      if (blocks::Converter::is_candidate(*node)) {
        group_for(*node, precision, is_main).nodes.push_back(node);
        continue;
      }
      std::string why = blocks::why_no_candidate(*node);
      if (why.empty() && precisions_.is_asked_for(*node)) why = "it has no weights that could lie in blocks";
      if (!why.empty()) leave(precision, rewrite::name_of(*node), std::move(why), changes_);
    }
  }

  Group& group_for(const ir::Node& node, const PrecisionOptions& precision, bool is_main) {
    ir::Value* input = blocks::Converter::summed_input(node);
    std::vector<size_t>& readers = by_input_[input];
    if (input)
      for (const size_t i : readers)
        if (groups_[i].precision->to == precision.to && groups_[i].precision->blocks == precision.blocks)
          return groups_[i];
    readers.push_back(groups_.size());
    const bool is_seen = input && is_main && input->graph() == node.graph();
    return groups_.emplace_back(
        Group{.input = input, .precision = &precision, .nodes = {}, .name = is_seen ? input->name() : std::string()});
  }

  const Precisions& precisions_;
  rewrite::Changes& changes_;
  std::vector<Group> groups_;
  std::unordered_map<const ir::Value*, std::vector<size_t>> by_input_;  // numbers of groups
};

int64_t width_of(const Group& group, const infer::Inference& facts) {
  const ops::Fact& fact = facts.fact(group.input);
  if (!fact.shape || fact.shape->empty()) return 0;
  return fact.shape->back().constant().value_or(0);
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
  const std::vector<Group> groups = Grouper(precisions, changes).run(*model.graph);
  const std::unique_ptr<ir::Model> before = samples ? ir::clone(model) : nullptr;
  dim::Scope scope;
  infer::Inference facts(model, scope);
  blocks::Converter converter(model, facts, samples ? samples->remembered() : nullptr);
  for (size_t first = 0; first < groups.size();) {
    // As many at once as statistics may be held of.
    std::vector<std::string> names;
    bool with_products = false;
    size_t last = first;
    for (int64_t held = 0; last < groups.size(); ++last) {
      const Group& group = groups[last];
      if (needs_data(group.precision->blocks.method) && !samples)
        throw Error(ErrorCode::kInvalidArgument, {.what = "the method needs to see what the weights multiply",
                                                  .where = "gptq and awq",
                                                  .expected = "--data, an .npz file of inputs or a folder of them"});
      if (!samples || group.name.empty()) continue;
      const int64_t width = width_of(group, facts);
      const bool products = group.precision->blocks.method == BlockMethod::kGptq;
      if (held > 0 && held + 4 * width * width > kMostHeld && products) break;
      if (products) held += 4 * width * width;
      with_products = with_products || products;
      names.push_back(group.name);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    const InputStatistics seen =
        names.empty() ? InputStatistics() : input_statistics(*before, names, with_products, *samples);
    for (; first < last; ++first) {
      const Group& group = groups[first];
      std::vector<std::string> places;
      for (const ir::Node* node : group.nodes) places.push_back(rewrite::name_of(*node));
      const auto found = seen.find(group.name);
      const std::vector<std::string> reasons =
          converter.convert(group.nodes, bits_of(group.precision->to), group.precision->blocks,
                            found == seen.end() ? nullptr : &found->second, changes);
      for (size_t i = 0; i < reasons.size(); ++i)
        if (!reasons[i].empty()) leave(*group.precision, places[i], reasons[i], changes);
    }
  }
  return changes;
}

}  // namespace thaw::quantizing
