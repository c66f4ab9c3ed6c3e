// Random numbers that are the same on every machine and for every order of asking: a function of a seed, a name and an
// index.
#pragma once

#include <cstdint>
#include <string_view>

namespace thaw::run {

class Random {
 public:
  // A stream of its own for each name under one seed.
  Random(uint64_t seed, std::string_view name);

  uint64_t next();                                   // uniform over 64 bits
  double uniform();                                  // in [0, 1)
  double normal();                                   // mean 0, deviation 1
  int64_t integer(int64_t lowest, int64_t highest);  // inclusive; lowest <= highest

 private:
  uint64_t state_;
};

}  // namespace thaw::run
