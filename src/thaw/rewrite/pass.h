// Passes: rewrites of a whole model, with what they expect, what they ensure, and what they did as data.
//
// A pipeline is a list of passes that reads like a table of contents. In tests each pass is held to more than it says
// (rewrite/pass_testing.h): the result is valid, every symbol is alive, no size is frozen that was free, and a second run
// changes nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/finding.h"
#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

using thaw::Change;

struct Changes {
  std::vector<Change> made;
  std::vector<Change> left;              // what a rule finds and no rewrite answers
  std::vector<std::string> passes = {};  // of a pipeline, that did something
  bool modified() const { return !made.empty(); }
};

struct Pass {
  std::string_view name;
  std::string_view expects;  // of the model, beyond what the loader checks
  std::string_view ensures;
  void (*run)(ir::Model&, Changes&);
};

// Runs the passes in order. A model that needs nothing is left as it is, byte for byte.
Changes run(std::span<const Pass> pipeline, ir::Model& model);

}  // namespace thaw::rewrite
