#include "thaw/fix/fix.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "thaw/fix/passes.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::fixing {
namespace {

using rewrite::Pass, rewrite::PassContext;

// Each round frees or removes something, and one is nearly always enough.
constexpr int kMostRounds = 8;

// The model has each value once since it was loaded.
int tell_repeated(PassContext& context) {
  const std::vector<ir::Repeated> all = std::exchange(context.model.repeated, {});
  for (const ir::Repeated& repeated : all)
    context.changes.made.push_back(
        {"THAW006", repeated.name, {}, {{std::string(repeated.makers), "the one that ONNX Runtime reads"}}});
  return static_cast<int>(all.size());
}

int remove_unused(PassContext& context) {
  return context.changes.modified() ? rewrite::remove_unused(context.model) : 0;
}

// One round, in order. What a row runs is in the file of its name.
std::vector<Pass> chosen_passes(const FixOptions& options) {
  struct Row {
    bool is_wanted;
    Pass pass;
  };
  const Row rows[] = {
      {options.declarations, {"repeated", "removes duplicate tensor names", tell_repeated}},
      // First: of what has no type that fits, nothing more is known.
      {options.types,
       {"types", "fixes mismatched element types by one Cast or constant, else by Casts between them", fix_types}},
      // Before declarations: what they free changes what is true of the shapes.
      {options.sizes, {"sizes", "replaces frozen sizes by expressions of the input sizes", thaw_sizes}},
      {options.chains, {"chains", "replaces computed shapes by constants of 0 and -1", shorten_reshapes}},
      {true, {"unused", "removes nodes that became unused", remove_unused}},
      // Last: they describe the graph as it is then.
      {options.declarations, {"declarations", "declares inferred shapes, one name a size", declare_sizes}},
  };
  std::vector<Pass> passes;
  for (const auto& [is_wanted, pass] : rows)
    if (is_wanted) passes.push_back(pass);
  return passes;
}

}  // namespace

rewrite::Changes fix(ir::Model& model, const FixOptions& options) {
  ops::require_arity(model);
  std::vector<Change> renamed;
  for (const ir::Node* node : ir::nodes_of_taken_names(*model.graph))
    renamed.push_back({"THAW006", node->describe(), {}, {{node->name, "a name of its own"}}});
  ir::tell_names_apart(model);
  const std::vector<Pass> passes = chosen_passes(options);
  rewrite::Changes changes = rewrite::run(passes, model);
  changes.made.insert(changes.made.begin(), renamed.begin(), renamed.end());
  // What went without use no longer stands in the way of the rest, so that a second fix of a result finds nothing to do.
  for (int round = 1; changes.modified() && round < kMostRounds; ++round) {
    rewrite::Changes more = rewrite::run(passes, model);
    if (!more.modified()) break;
    // What was left stays left unless it was answered after all: once the rest is fixed, nothing points to it any more.
    std::erase_if(changes.left, [&](const Change& left) {
      return std::ranges::find(more.made, left.location, &Change::location) != more.made.end();
    });
    std::ranges::move(more.made, std::back_inserter(changes.made));
  }
  // What was not known in time may have been taken for free, or for frozen.
  model.budget->require(model.path.string());
  return changes;
}

}  // namespace thaw::fixing
