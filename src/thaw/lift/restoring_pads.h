// Pads that give back what whole pieces left of an axis.
//
// What is taken in pieces of k and put together again is k * floor(n / k) long; a Pad then makes it n again. Where all traces leave
// as much of the last piece, its amount is one number in all of them, and would be taken for a constant: what it pads
// to tells that it is n less what is there. Internal to lift/.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Tables for the amounts of such Pads, by what inference knows of the sizes before them. Sizes behind them are n, whatever else gives
// as much in the traces.
void note_restoring_pads(Lifting& lifting);

}  // namespace thaw::lifting
