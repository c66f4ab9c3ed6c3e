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

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// What a pass changed, or what it found and left.
struct Change {
  std::string kind;   // the rule of `check` that it answers: "THAW003"
  std::string place;  // node or tensor
  std::string part;   // of the place, where there are several: "axis 0"
  // "'?'" and what it became, "'floor(height/8)'". Of what is left, nothing.
  std::vector<std::pair<std::string, std::string>> replaced;
  int nodes = 0;         // that read what was replaced; 0: not counted
  std::string why = {};  // of what is left: a clause

  // One clause for people: "axis 0: '?' becomes 'floor(height/8)'".
  std::string message() const;
};

struct Changes {
  std::vector<Change> made;
  std::vector<Change> left;  // what a rule finds and no rewrite answers
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
