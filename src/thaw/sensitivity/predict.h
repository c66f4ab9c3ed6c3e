// What a unit's error does to the outputs, predicted: how large it is where its section ends, times how much of an error there
// arrives at the outputs.
//
// The noise that a layer adds passes through the rest of a network in proportion, and what several layers add sums up: Zhou,
// Moosavi-Dezfooli, Cheung and Frossard, "Adaptive Quantization for Deep Neural Networks", AAAI 2018, sections 3 and 4. Attention
// and pools average over tokens and positions: what all of them have in common passes, what differs averages out. So the noise
// is split into the two (propagated_noise.h), each with a factor of its own:
//
//   error at the outputs = common * a + differing * b
//
// Both noises are measured for every unit, on few samples: only its own section runs. The factors are measured where units
// change the same values, once each: by the units with the most of either. The worst units, and those that may be among them,
// are measured as in the exact mode. Where these show that what was predicted ranks nothing, each unit is run to the outputs, on
// the samples that tell most (representative_samples.h).
#pragma once

#include <functional>
#include <vector>

#include "thaw/sensitivity/confirm_worst.h"

namespace thaw::measuring {

// Fills in the errors of these units, in one precision; `with.wanted` has the samples that are used. Calls `advance` with each unit
// whose own section has run, one call at a time. False where what was measured shows that the figures do not rank the units.
bool predict(const Confirming& with, const std::vector<UnitError*>& errors, const std::function<void()>& advance);

// The same by runs to the outputs, on a part of the samples. `all`: the figures with all units converted, a sample each.
void estimate_by_samples(const Confirming& with, const std::vector<ErrorFigures>& all,
                         const std::vector<UnitError*>& errors, const std::function<void()>& advance);

}  // namespace thaw::measuring
