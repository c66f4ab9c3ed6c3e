// What Pads may add at sizes that no trace has. Internal to lift/.
//
// What fills an axis up to whole windows adds less than one. Where it adds one, as n - n % k of them would, there was mostly a branch for
// the remainder, of which an exporter left the one that the traces took.
//
// Before a kernel of k entries and a stride of s, TensorFlow's "same" padding adds max(ceil(n / s) * s - s + k - n, 0), half of it on either
// side. Where that gives the traces' amounts, too, other ones are a guess: two remainders of n may not tell them apart.
#pragma once

#include <vector>

#include "thaw/lift/domain/needs.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// That the axes of such Pads are no longer than whole windows make them, and that amounts are what "same" padding adds.
std::vector<Undecided> untold_pads(const Lifting& lifting, const Needs& needs);

// Whole pieces that Pads fill up, as many in every trace: what is added may be a number less the size. By what other sizes are cut is told of
// all.
std::vector<Undecided> steady_pieces(const Lifting& lifting);

}  // namespace thaw::lifting
