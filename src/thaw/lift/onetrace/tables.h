// Tables of a trace: constants with an axis that grows, each made by the generator that gives its entries
// (lift/table/table.h).
//
// One trace lets more generators pass than several do; what is written is only proposed, until a reference's numbers
// confirm the model.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::lifting::onetrace {

// A frozen table or weight, and how the analysis of frozen sizes puts it.
struct Table {
  std::string code;
  const ir::Value* value = nullptr;  // of the model as exported; null: no constant
  Note note;  // why it is left, unless it can be made; no message: nothing says that it is frozen
};

// The tables that the model froze. To be called while the model is as it was exported.
std::vector<Table> find_tables(const ir::Model& model);

// What the lengths of the tables may be, by length; the cheapest first. Several where a length is ambiguous: 30 is the
// width of the grid, or the longer of its sides.
using Lengths = std::map<int64_t, dim::Dim>;
std::vector<Lengths> possible_lengths(const std::vector<Table>& tables, std::span<const lifting::Point> points);

struct TableReport {
  std::vector<Note> made, left;
};

// Replaces every reader of a table that a generator gives by nodes that compute it. Tables that hold the same are one.
// `model` is a copy of the one that they were found in; constants of the names in `others` are left to others.
TableReport make_tables(ir::Model& model, const std::vector<Table>& tables, const Sizes& sizes, const Lengths& lengths,
                        const std::set<std::string>& others, rewrite::DimEmitter& emitter);

}  // namespace thaw::lifting::onetrace
