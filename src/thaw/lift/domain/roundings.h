// How sizes are rounded, as far as the traces tell it. Internal to lift/.
#pragma once

#include <set>
#include <span>

#include "thaw/lift/domain/domain.h"
#include "thaw/lift/table/formula/table_emitter.h"

namespace thaw::lifting {

// In the order in which they were made: the same in every run.
struct ByMaking {
  bool operator()(const dim::Atom* a, const dim::Atom* b) const { return a->id < b->id; }
};

// Quotients that sizes of the graph itself have, as a convolution rounds them: of these nothing is guessed.
struct ToldRoundings {
  std::set<const dim::Atom*, ByMaking> floors;
  void add(dim::Dim size);
};

// Whether the size depends on how one of these is rounded.
bool is_rounded_as(dim::Dim size, std::span<const dim::Dim> guessed, const ToldRoundings& told,
                   std::span<const Variable> variables);

// Adds what the roundings in these sizes depend on: a quotient that no trace has a part left over of is not told how it
// is rounded, and one that every trace has the same part left over of is told there alone; unless the graph tells it, or another
// size of the same input, of which the same is taken. guessed: sizes that were solved by numbers; what is rounded as one of them
// depends on it too, and nothing else does.
void add_roundings(Domain& domain, std::span<const dim::Dim> sizes, std::span<const dim::Dim> guessed,
                   const ToldRoundings& told, std::span<const Variable> variables);

// Where the graph divides a size (patches, pools) and no trace leaves a remainder, nothing tells what becomes of one: that it is dropped,
// as the node does, or filled up before by code that runs where there is one. Adds that there is none.
void add_whole_divisions(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables);

// Adds that an axis is a multiple of all that divides it in the traces where numbers are computed of a part of it that is rounded. No shape
// holds such a size, and another one that is rounded otherwise gives the same numbers.
void add_rounded_numbers(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes,
                         std::span<const Variable> variables);

// Of traces without the nodes that do nothing (no_ops.h): adds that an axis of which the model rounds anything is a multiple of all that
// divides it in the traces. By any of it the model may fill the axis up, or cut it down.
void widen_to_common_divisors(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables);

}  // namespace thaw::lifting
