// Sizes that no trace has. Internal to lift/.
//
// As multiples of what all of the traces' sizes are multiples of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// The same for the same variables; of each, the value of every variable. Mixtures of the traces' sizes, and others between
// the smallest and the largest. What lies beyond the traces may not exist: a lookup table ends somewhere.
std::vector<std::vector<int64_t>> unseen_sizes(std::span<const Variable> variables);

// The same, but that dims which followed from other dims in the traces (a cache and what is new) are drawn as the others are.
std::vector<std::vector<int64_t>> sizes_apart(std::span<const Variable> variables);

// From the largest up to twice that. Two traces may be so close that what differs elsewhere is the same in both (3 windows
// of 32 cover 77 and 90).
std::vector<std::vector<int64_t>> sizes_beyond(std::span<const Variable> variables);

// Smaller than the smallest, down to a quarter, and larger than the largest, up to twice that; as multiples, and of any step.
std::vector<std::vector<int64_t>> sizes_outside(std::span<const Variable> variables);

// Between the traces', of any step. Empty where the traces' sizes have no common divisor.
std::vector<std::vector<int64_t>> sizes_of_any_step(std::span<const Variable> variables);

// Of what the traces' sizes share, variable `index` keeps its remainder by `modulus` alone. Empty where it follows from
// others.
std::vector<std::vector<int64_t>> sizes_between(std::span<const Variable> variables, size_t index, int64_t modulus);

// Every size of one variable between the smallest and the largest after the other, as far as they are few; the others as some trace has
// them.
std::vector<std::vector<int64_t>> sizes_one_by_one(std::span<const Variable> variables);

// Each variable as small as its smallest trace, or from_one 1, or far beyond all traces', in all combinations as far as these are few; else one
// at a time, of the first ones.
std::vector<std::vector<int64_t>> extreme_sizes(std::span<const Variable> variables, bool from_one);

// By variable: the size as an expression of others (patches of grids); unknown where it is a size of its own.
std::vector<dim::Dim> followed_sizes(std::span<const Variable> variables);
// Of values alone, not of other dims.
std::vector<dim::Dim> followed_apart(std::span<const Variable> variables);

}  // namespace thaw::lifting
