// What inference knows of traces that are about to be changed.
#pragma once

#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

class TraceFacts {
 public:
  explicit TraceFacts(const std::vector<Trace>& traces) : traces_(traces), scopes_(traces.size()) {}

  // Of all traces as they are when one is first asked for.
  const infer::Result& of(size_t trace) {
    while (facts_.size() < traces_.size())
      facts_.push_back(infer::infer(*traces_[facts_.size()].model, scopes_[facts_.size()]));
    return facts_[trace];
  }

 private:
  const std::vector<Trace>& traces_;
  std::vector<dim::Scope> scopes_;
  std::vector<infer::Result> facts_;
};

}  // namespace thaw::lifting
