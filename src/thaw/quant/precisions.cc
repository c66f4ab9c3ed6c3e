#include "thaw/quant/precisions.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fnmatch.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/ir/graph/location.h"
#include "thaw/quant/attention_projections.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

std::set<std::string> names_of(const ir::Model& model) {
  std::set<std::string> names;
  for_nodes(*model.graph, [&](const ir::Node& node) { names.insert(rewrite::name_of(node)); });
  return names;
}

[[noreturn]] void refuse_name(const std::string& name, const std::set<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the model has no node '{}'{}", name, did_you_mean(name, known)),
               .where = "the plan",
               .expected = "the name of a node, or of its first output where it has none",
               .next = "`thaw inspect --tensors` lists what nodes make"});
}

bool fits(const std::string& pattern, const ir::Node& node) {
  return fnmatch(pattern.c_str(), rewrite::name_of(node).c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), ir::operator_name(node).c_str(), 0) == 0;
}

}  // namespace

int bits_of(NumberFormat format) {
  switch (format) {
    case NumberFormat::kKeep:
      return 32;
    case NumberFormat::kFloat16:
    case NumberFormat::kBfloat16:
      return 16;
    case NumberFormat::kInt8:
    case NumberFormat::kInt8Blocks:
      return 8;
    case NumberFormat::kInt4:
      return 4;
    case NumberFormat::kInt3:
      return 3;
    case NumberFormat::kInt2:
      return 2;
  }
  return 0;
}

void for_precisions(const ConvertOptions& options,
                    const std::function<void(const PrecisionOptions&, const std::string& location)>& each) {
  each(options.precision, {});
  for (const PlannedNode& node : options.plan) each(node.precision, fmt::format("the plan for '{}'", node.name));
}

bool any_is(const ConvertOptions& options, const std::function<bool(const PrecisionOptions&)>& is) {
  return is(options.precision) ||
         std::ranges::any_of(options.plan, [&](const PlannedNode& node) { return is(node.precision); });
}

bool any_is(const ConvertOptions& options, NumberFormat format) {
  return any_is(options, [&](const PrecisionOptions& precision) { return precision.to == format; });
}

bool reads_samples(const ConvertOptions& options) {
  return any_is(options, [](const PrecisionOptions& precision) {
    const BlockMethod method = precision.blocks.method;
    return precision.to == NumberFormat::kFloat16 || (is_int8(precision.to) && !precision.int8.dynamic) ||
           (is_blocks(precision.to) && method != BlockMethod::kRtn && method != BlockMethod::kHqq);
  });
}

std::string_view name_of(NumberFormat format) {
  switch (format) {
    case NumberFormat::kKeep:
      return "keep";
    case NumberFormat::kFloat16:
      return "f16";
    case NumberFormat::kBfloat16:
      return "bf16";
    case NumberFormat::kInt8:
      return "int8";
    case NumberFormat::kInt4:
      return "int4";
    case NumberFormat::kInt2:
      return "int2";
    case NumberFormat::kInt3:
      return "int3";
    case NumberFormat::kInt8Blocks:
      return "int8-blocks";
  }
  return "";
}

Precisions::Precisions(const ir::Model& before, const ir::Model& model, const ConvertOptions& options,
                       std::vector<Change>& left)
    : default_(options.precision) {
  planned_.reserve(options.plan.size());
  std::unordered_map<std::string, const PrecisionOptions*> by_name;
  for (const PlannedNode& node : options.plan) {
    planned_.push_back(node.precision);
    by_name[node.name] = &planned_.back();
  }
  std::set<std::string> met;
  std::unordered_set<const std::string*> fitting;
  for_nodes(*model.graph, [&](const ir::Node& node) {
    if (!by_name.empty()) {
      const std::string name = rewrite::name_of(node);
      if (const auto at = by_name.find(name); at != by_name.end()) {
        by_node_[&node] = at->second;
        met.insert(name);
      }
    }
    for (const std::string& pattern : options.keep)
      if (fits(pattern, node)) {
        by_node_[&node] = &keep_;
        fitting.insert(&pattern);
      }
  });
  if (options.join_projections) join_projections(model, left);
  if (met.size() < by_name.size()) {
    const std::set<std::string> names = names_of(before);
    for (const PlannedNode& node : options.plan) {
      if (met.contains(node.name)) continue;
      if (!names.contains(node.name)) refuse_name(node.name, names);
      left.push_back({.kind = std::string(name_of(node.precision.to)),
                      .location = node.name,
                      .part = {},
                      .replaced = {},
                      .nodes = 0,
                      .why = "the optimizer fused it into another node"});
    }
  }
  for (const std::string& pattern : options.keep) {
    if (fitting.contains(&pattern)) continue;
    bool was_there = false;
    for_nodes(*before.graph, [&](const ir::Node& node) { was_there = was_there || fits(pattern, node); });
    if (was_there || pattern == "*") continue;  // all there is, though that be none
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("no node fits '{}'", pattern),
                                              .where = "what is to be kept",
                                              .expected = "a pattern of node names or operators, such as '*lm_head*'",
                                              .next = "`thaw inspect --tensors` lists what nodes make"});
  }
}

// One attention's q, k and v are one matrix to most runtimes: those that no entry names go with one that an entry names,
// and of several the one of most bits.
void Precisions::join_projections(const ir::Model& model, std::vector<Change>& left) {
  if (planned_.empty()) return;
  for (const std::vector<const ir::Node*>& group : attention_projections(model)) {
    const PrecisionOptions* widest = nullptr;
    for (const ir::Node* node : group)
      if (const auto at = by_node_.find(node); at != by_node_.end())
        if (!widest || bits_of(at->second->to) > bits_of(widest->to)) widest = at->second;
    if (!widest) continue;
    for (const ir::Node* node : group) {
      const PrecisionOptions* own = &of(*node);
      if (own->to == widest->to) continue;
      left.push_back(
          {.kind = std::string(name_of(own->to)),
           .location = rewrite::name_of(*node),
           .part = {},
           .replaced = {},
           .nodes = 0,
           .why = fmt::format("it follows the other projections of its attention, to {}", name_of(widest->to))});
      by_node_[node] = widest;
    }
  }
}

const PrecisionOptions& Precisions::of(const ir::Node& node) const {
  const auto at = by_node_.find(&node);
  return at == by_node_.end() ? default_ : *at->second;
}

}  // namespace thaw::quantizing
