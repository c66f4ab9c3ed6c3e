#include "thaw/optimize/backend_opset.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/rewrite/change_opset.h"

namespace thaw::optimizing {
namespace {

using Counts = std::map<std::string_view, int>;

void count_operators(const ir::Graph& graph, Counts& counts) {
  for (const ir::Node* node : graph.nodes()) {
    if (node->domain().empty()) ++counts[node->op_type()];
    for (const ir::Graph* inner : node->subgraphs()) count_operators(*inner, counts);
  }
}

// What an opset lacks counts as well: it is written in operators that it has, which may have no kernel either, and where they have, that
// is done at a newer opset too.
int num_without_kernel(const Counts& counts, int64_t opset, const ops::TargetDomain& taken) {
  int found = 0;
  for (const auto& [op, count] : counts)
    if (!ops::find_kernel(taken, op, opset)) found += count;
  return found;
}

}  // namespace

void change_to_opset_of(const ops::TargetDomain& taken, rewrite::PassContext& context, int64_t least) {
  const ir::Model& model = context.model;
  const int64_t now = model.opset("").value_or(0), nearest = std::min(std::max(now, least), taken.newest);
  Counts counts;
  count_operators(*model.graph, counts);
  struct Choice {
    int64_t opset;
    int missing;
  };
  // The nearest first.
  std::vector<Choice> choices{{nearest, num_without_kernel(counts, nearest, taken)}};
  for (int64_t opset = nearest - 1; opset >= std::max(least, rewrite::kOldestAimedAt); --opset)
    choices.push_back({opset, num_without_kernel(counts, opset, taken)});
  for (int64_t opset = nearest + 1; now < least && opset <= std::min(taken.newest, ir::newest_opset()); ++opset)
    choices.push_back({opset, num_without_kernel(counts, opset, taken)});
  std::ranges::stable_sort(choices, {}, &Choice::missing);
  std::string why;
  for (const Choice& choice : choices) {
    if (choice.opset == now) return;
    try {
      return rewrite::change_opset(context, choice.opset);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      if (why.empty()) why = error.parts().what;
    }
  }
  context.changes.left.push_back({.kind = "directml", .location = "the model", .part = {}, .replaced = {}, .why = why});
}

}  // namespace thaw::optimizing
