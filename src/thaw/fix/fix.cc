#include "thaw/fix/fix.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "thaw/fix/declare_sizes.h"
#include "thaw/fix/shorten_reshape.h"
#include "thaw/fix/thaw_sizes.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::fixing {

namespace {

// Each round frees or removes something, and one is nearly always enough.
constexpr int kMostRounds = 8;

// The model has each value once since it was loaded.
void tell_repeated(ir::Model& model, rewrite::Changes& changes) {
  for (const ir::Repeated& repeated : std::exchange(model.repeated, {}))
    changes.made.push_back(
        {"THAW006", repeated.name, {}, {{std::string(repeated.makers), "the one that ONNX Runtime reads"}}});
}

}  // namespace

rewrite::Changes fix(ir::Model& model, const FixOptions& options) {
  ops::require_arity(model);
  std::vector<rewrite::Pass> pipeline;
  if (options.declarations)
    pipeline.push_back(
        {.name = "make each value once", .expects = {}, .ensures = "no name is made twice", .run = tell_repeated});
  // Sizes first: what they free changes what is true of the shapes.
  if (options.sizes) pipeline.push_back(kThawSizes);
  if (options.chains) pipeline.push_back(kShortenReshapes);
  pipeline.push_back({.name = "remove what is left without use",
                      .expects = {},
                      .ensures = "nothing goes where nothing was changed",
                      .run = [](ir::Model& m, rewrite::Changes& changes) {
                        if (changes.modified()) rewrite::remove_unused(m);
                      }});
  // Declarations last: they describe the graph as it is then.
  if (options.declarations) pipeline.push_back(kDeclareSizes);
  rewrite::Changes changes = rewrite::run(pipeline, model);
  // What went without use no longer stands in the way of the rest, so that a second fix of a result finds nothing to do.
  for (int round = 1; changes.modified() && round < kMostRounds; ++round) {
    rewrite::Changes more = rewrite::run(pipeline, model);
    if (!more.modified()) break;
    // What was left stays left unless it was answered after all: once the rest is mended, nothing points to it any more.
    std::erase_if(changes.left, [&](const Change& left) {
      return std::ranges::find(more.made, left.place, &Change::place) != more.made.end();
    });
    std::ranges::move(more.made, std::back_inserter(changes.made));
  }
  // What was not known in time may have been taken for free, or for frozen.
  model.budget->require(model.path.string());
  return changes;
}

}  // namespace thaw::fixing
