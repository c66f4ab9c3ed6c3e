// The angle behind a cosine or sine. Internal to lift/.
#pragma once

#include <utility>
#include <vector>

namespace thaw::lifting {

// entry = cos(step * x), or sin.
struct Angle {
  double step = 0;
  double weight = 0;  // how well the step is known; 0: not at all
};

// Pairs of x and entry, x rising from above 0. At a larger x the step is better known, up to whole turns, which the
// smaller ones tell; where the function is flat it is not known at all.
Angle angle_of(const std::vector<std::pair<double, double>>& entries, bool sine);
// Those whose smallest x may be some turns on, as places that are told in cells of a larger grid are: the slowest first, of those that
// leave every entry near.
std::vector<Angle> faster_angles_of(const std::vector<std::pair<double, double>>& entries, bool sine);
// From a first guess of the step on.
Angle angle_near(const std::vector<std::pair<double, double>>& entries, bool sine, double guess);
// The same where even the smallest x may be whole turns on, as positions behind a past are: three neighbours in a row tell
// the step well enough to begin with.
Angle angle_from_neighbours(const std::vector<std::pair<double, double>>& entries, bool sine);

// Of frequencies base^(-i / n), the base that people write: of two digits or fewer, where it is that to four.
double rounded_base(double base);

}  // namespace thaw::lifting
