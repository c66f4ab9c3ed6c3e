// What the nodes of a lifted model need of the integers that were solved. Internal to lift/.
//
// Inference runs over the model as it was written, with a symbol in the place of each integer. What it then states of sizes ("the
// parts of a Split are as long as its axis") are equations between the integers and the sizes of the inputs. They are looked at at
// sizes that no trace has: at the traces' own, whatever was solved meets them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/solve/solve.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/ops/rule/obligation.h"

namespace thaw::lifting {

// An integer, wherever it stands.
struct Unknown {
  struct Place {
    dim::Dim symbol;  // stands for the integer there
    dim::Dim taken;   // what it was solved as
  };
  std::vector<int64_t> wanted;        // in each trace
  std::vector<Place> places;          // each of another size
  std::vector<dim::Dim> others = {};  // what else gives the wanted values, the plainest first
  Rule rule = Rule::kConstant;        // of the least plain place
  bool is_solved = true;              // else `taken` is a symbol without a value
  bool follows = false;               // from how others were solved: it is no choice of its own
  // Where it stands, of one that is asked for at these places alone: it is the same in every trace, and may be a size all the same
  // (steady_integers.h), or other places have the same values. And the least that it can be.
  std::vector<IntegerPlace> stands_at = {};
  int64_t least = std::numeric_limits<int64_t>::min();

  bool is_at_places() const { return !stands_at.empty(); }
};

struct Condition {
  dim::Relation relation = dim::Relation::kEqual;
  dim::Dim a, b;
  std::vector<size_t> unknowns;  // that it speaks of, ascending
};

struct Conditions {
  std::shared_ptr<dim::Scope> scope;  // of all Dims
  std::vector<Unknown> unknowns;
  std::vector<Condition> needed;        // in the order of the nodes
  std::vector<dim::Assignment> traces;  // the sizes of the inputs, and the integers, in each
  std::vector<dim::Assignment> unseen;  // the sizes of the inputs elsewhere
};

// lifted: as it was written, and as it is afterwards. shapes: of its inputs, in the scope's symbols. unknowns: without symbols; what else was written follows. traced: the nodes whose needs count.
Conditions conditions_of(ir::Model& lifted, const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                         const WrittenSizes& written, std::vector<Unknown> unknowns,
                         std::span<const Variable> variables, const std::shared_ptr<dim::Scope>& scope,
                         const std::unordered_set<const ir::Node*>& traced,
                         const std::vector<std::vector<int64_t>>& unseen);

}  // namespace thaw::lifting
