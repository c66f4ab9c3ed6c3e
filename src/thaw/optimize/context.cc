#include "thaw/optimize/context.h"

#include <algorithm>
#include <utility>

#include "thaw/frozen/frozen.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

constexpr size_t kMostUnrolled = 4000;  // nodes that loops may add in all

Constants frozen_constants(const ir::Model& model, FrozenSizes sizes) {
  Constants found;
  if (sizes == FrozenSizes::kMeant) return found;
  dim::Scope scope;
  for (const frozen::FrozenSite& site : frozen::find_frozen(model, scope).sites)
    if (site.constant) found.insert(site.constant);
  return found;
}

}  // namespace

Weight weigh(const ir::Graph& graph) {
  Weight weight;
  for (const ir::Value* value : graph.initializers()) weight.bytes += value->initializer()->num_bytes();
  for (const ir::Node* node : graph.nodes()) {
    ++weight.nodes;
    if (node->constant()) weight.bytes += node->constant()->num_bytes();
    for (const ir::Graph* inner : node->subgraphs()) {
      const Weight deeper = weigh(*inner);
      weight.nodes += deeper.nodes;
      weight.bytes += deeper.bytes;
    }
  }
  return weight;
}

// What is split by a size that is known only at run time, and concatenated again, is known to be what it was.
Context::Context(ir::Model& changed, OptimizeTarget wanted, const ops::Target& runs_on, FrozenSizes sizes)
    : PassContext(changed, infer::UnknownSizes::kNamed), target(wanted), backend(runs_on), sizes_(sizes) {}

bool Context::has_kernel(std::string_view op) const {
  const ops::TargetDomain* standard = backend.domain("");
  return !standard || standard->kernels.empty() || ops::find_kernel(*standard, op, model.opset("").value_or(0));
}

const Constants& Context::frozen() {
  if (!frozen_) frozen_ = frozen_constants(model, sizes_);
  return *frozen_;
}

bool Context::thaws() {
  if (changes.made.size() == changes_before_ || frozen().empty()) return false;
  changes_before_ = changes.made.size();
  const Constants before = std::exchange(frozen_, std::nullopt).value();
  return std::ranges::any_of(rewrite::all_graphs(*model.graph), [&](const ir::Graph* graph) {
    return std::ranges::any_of(graph->initializers(), [&](const ir::Value* value) {
      return before.contains(value) && !frozen().contains(value);
    });
  });
}

void Context::limit_growth(uint64_t max_growth) {
  most_bytes_ = weigh(*model.graph).bytes + max_growth;
  most_nodes_ = model.graph->num_nodes() + kMostUnrolled;
}

uint64_t Context::bytes_to_grow() const {
  const uint64_t bytes = weigh(*model.graph).bytes;
  return most_bytes_ - std::min(most_bytes_, bytes);
}

}  // namespace thaw::optimizing
