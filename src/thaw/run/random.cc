#include "thaw/run/random.h"

#include <cmath>
#include <numbers>

namespace thaw::run {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function.
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed, std::string_view name) : state_(mix(seed + kStep)) {
  for (const char c : name) state_ = mix(state_ ^ static_cast<unsigned char>(c)) + kStep;
}

uint64_t Random::next() { return mix(state_ += kStep); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::normal() {
  // Box and Muller's transform; 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

int64_t Random::integer(int64_t lowest, int64_t highest) {
  const uint64_t width = static_cast<uint64_t>(highest) - static_cast<uint64_t>(lowest) + 1;
  if (width == 0) return static_cast<int64_t>(next());  // all of int64
  // The high half of a 128-bit product; its bias is below 2^-32 for the widths that inputs have.
  const auto product = static_cast<unsigned __int128>(next()) * width;
  return static_cast<int64_t>(static_cast<uint64_t>(lowest) + static_cast<uint64_t>(product >> 64));
}

}  // namespace thaw::run
