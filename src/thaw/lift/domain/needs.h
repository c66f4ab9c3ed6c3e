// What the nodes of a lifted model need of sizes. Internal to lift/.
//
// A model that runs at every size that is drawn may still not run at some that a proof finds, or outside of the traces: an exporter left one of
// two branches, that for a remainder, and where there is none the other would run. What its nodes need then is a part of the domain.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/domain/domain.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::lifting {

class Needs {
 public:
  // lifted: as it was written, and as it stays. shapes: of its inputs, in the variables. traced: the nodes whose needs count.
  Needs(const ir::Model& lifted, std::unordered_map<const ir::Value*, ops::Shape> shapes,
        std::span<const Variable> variables, dim::Scope& scope, const std::unordered_set<const ir::Node*>& traced)
      : lifted_(lifted), shapes_(std::move(shapes)), variables_(variables), scope_(scope), traced_(traced) {}

  // Of the model in the variables: inferred when it is first asked for.
  const infer::Result& facts() const;

  // What does not hold at one of these at least, and does in every trace and at all of `others`: each once, the first nodes' first.
  std::vector<Undecided> missed_at(const std::vector<dim::Assignment>& broken,
                                   const std::vector<dim::Assignment>& others, size_t most) const;

 private:
  const ir::Model& lifted_;
  std::unordered_map<const ir::Value*, ops::Shape> shapes_;
  std::span<const Variable> variables_;
  dim::Scope& scope_;
  const std::unordered_set<const ir::Node*>& traced_;
  mutable std::optional<infer::Result> facts_;
};

}  // namespace thaw::lifting
