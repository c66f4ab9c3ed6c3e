// The frequencies of rotary positions (Su et al., "RoFormer", 2021): a position p turns pair j of the elements of a head by
// p * base^(-j / pairs). For contexts longer than a model was trained with they are scaled.
//
// Scaled ones leave the fast frequencies as they are, which turn many times within the context that the model was trained with,
// and divide the slow ones by how much longer it becomes; in between they pass from one to the other ("NTK by parts"). Llama 3
// counts turns for that, YaRN pairs.
//
// What models are built with is in float32 as transformers computes it, with every step rounded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thaw::math {

// base^(-position / count), and those of all positions; in double precision.
double rotary_frequency(double base, double position, double count);
std::vector<double> rotary_frequencies(double base, size_t count);

// base^(-2j / dim) for j = 0 … dim/2 - 1; with `factors`, one for each, divided by these.
std::vector<float> rotary_frequencies_as_trained(double base, int64_t dim, std::span<const double> factors = {});

// Llama 3.1 (Meta 2024, apply_scaling of its reference code), by wavelengths: those below length / high_factor stay, those above
// length / low_factor are divided, between them the two are blended by how many turns `length` has.
struct Llama3Scaling {
  double factor, low_factor, high_factor;
  double length;  // that the model was trained with
};
void scale(std::vector<float>& frequencies, const Llama3Scaling& by);

// YaRN (Peng et al. 2023, section 3.2): a ramp over the pairs, from the one that turns `fast` times within the length to the one
// that turns `slow` times.
struct YarnScaling {
  double factor;
  double base;
  double length;  // that the model was trained with
  double fast, slow;
  bool is_cut;  // the ramp begins and ends at whole pairs
};
void scale(std::vector<float>& frequencies, const YarnScaling& by);

// What cosines and sines are multiplied by beside it: the root of 1/t in section 3.4 of the same, `by` as DeepSeek has it (mscale).
double yarn_magnitude(double factor, double by);
// The same of LongRoPE (Ding et al. 2024), as Phi-3 has it.
double longrope_magnitude(double factor, double length);

}  // namespace thaw::math
