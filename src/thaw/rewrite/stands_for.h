// Whether a number in a model is a constant that a formula names: as exporters and checkpoints store it.
#pragma once

namespace thaw::rewrite {

// Equal as far as float32 goes, or what the constant (or one over it, of a divisor) is in bfloat16 or float16. 0.7071 is no
// 1/√2, and 0.70703125, which is 1/√2 in both, is.
bool stands_for(double number, double constant);

}  // namespace thaw::rewrite
