#include "thaw/fix/fix.h"

#include "thaw/fix/declare_sizes.h"
#include "thaw/fix/shorten_reshape.h"
#include "thaw/fix/thaw_sizes.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::fixing {

rewrite::Changes fix(ir::Model& model, const FixOptions& options) {
  ops::require_arity(model);
  std::vector<rewrite::Pass> pipeline;
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
  return rewrite::run(pipeline, model);
}

}  // namespace thaw::fixing
