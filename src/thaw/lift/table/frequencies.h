// Rotary frequencies that go with no one power: what else makes them exact.
//
// Slow ones are badly known from the few positions of a trace, and what is known badly is wrong far behind them. Scaled ones
// (math/rotary_frequencies.h) have a base and a factor all the same, which fewer of them tell; and a cosine hardly moves where
// the sine beside it says what both turn by. Internal to lift/.
#pragma once

#include <vector>

namespace thaw::lifting {

struct Frequency {
  double step = 0;
  double within = 0;  // how far the true one may be from it
};

// What tables told of frequencies so far, the fastest first.
struct KnownFrequencies {
  std::vector<std::vector<Frequency>> lists = {};
  bool badly = false;    // whether the last table's might be told better by one that comes after it
  bool is_last = false;  // nothing comes after it: what is not known by now is not known
};

// Where fast ones are powers of a base of two digits or fewer, and the slow ones are those divided by a factor, they
// become exactly that; those in between stay. Whether it is so.
bool scale_slow_ones(std::vector<Frequency>& frequencies);

// Takes the better of each from a table before that has the same, and takes note of these. Whether there was one.
bool take_what_is_known(std::vector<Frequency>& frequencies, KnownFrequencies& known);

// Of frequencies base^(-i / n), the base that people write: of two digits or fewer, where it is that to four.
double rounded_base(double base);
// Whether it is one. What has more digits is not known well enough far behind the traces.
bool is_written_base(double base);

}  // namespace thaw::lifting
