#include "thaw/lift/align/raise_opset.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kOpsetOfOperands = 13;

int64_t opset_of(const ir::Model& model) { return model.opset("").value_or(kOpsetOfOperands); }

void raise(ir::Model& model, int64_t to) {
  rewrite::PassContext context(model);
  try {
    rewrite::change_opset(context, to);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.next = fmt::format("export the model at opset {} or later", to);
    throw Error(error.code(), std::move(parts));
  }
}

std::vector<Note> note_of(int64_t from, int64_t to) {
  return {{"opset", fmt::format("raised from {} to {}, in which nodes compute sizes", from, to), {}}};
}

using NodesOfType = std::map<std::string_view, std::vector<const ir::Node*>>;

NodesOfType nodes_of_type(const ir::Model& model) {
  NodesOfType nodes;
  for (const ir::Node* node : model.graph->nodes()) nodes[node->op_type()].push_back(node);
  return nodes;
}

// Of nodes that may be the same one: those of a type, in their order.
bool integers_differ(const ir::Node& node, const ir::Node& other) {
  return std::ranges::any_of(node.attributes(), [&](const ir::Attribute& attribute) {
    const ir::Attribute* there = attribute.as<std::vector<int64_t>>() ? other.attribute(attribute.name) : nullptr;
    return there && !same_attribute(attribute, *there);
  });
}

bool attributes_differ(std::span<const Trace> traces) {
  const NodesOfType first = nodes_of_type(*traces.front().model);
  return std::ranges::any_of(traces.subspan(1), [&](const Trace& trace) {
    const NodesOfType others = nodes_of_type(*trace.model);
    return std::ranges::any_of(first, [&](const auto& type) {
      const auto other = others.find(type.first);
      if (other == others.end() || other->second.size() != type.second.size()) return false;
      for (size_t i = 0; i < type.second.size(); ++i)
        if (integers_differ(*type.second[i], *other->second[i])) return true;
      return false;
    });
  });
}

}  // namespace

std::vector<Note> raise_opset_of_sizes(ir::Model& model) {
  const int64_t from = opset_of(model);
  if (from >= rewrite::DimEmitter::kOpsetOfAll) return {};
  raise(model, kOpsetOfOperands);
  return note_of(from, kOpsetOfOperands);
}

std::vector<Note> raise_opset_of_sizes(std::span<Trace> traces) {
  std::vector<int64_t> opsets;
  for (const Trace& trace : traces) opsets.push_back(opset_of(*trace.model));
  const auto [oldest, newest] = std::ranges::minmax(opsets);
  const bool can_compute = oldest >= rewrite::DimEmitter::kOpsetOfAll && oldest == newest;
  if (can_compute && (oldest >= kOpsetOfOperands || !attributes_differ(traces))) return {};
  const int64_t to = std::max(newest, kOpsetOfOperands);
  for (const Trace& trace : traces)
    if (opset_of(*trace.model) < to) raise(*trace.model, to);
  return note_of(oldest, to);
}

}  // namespace thaw::lifting
