// What is behind a cosine or sine: how fast it turns along one coordinate or two, how high it is, and what is added to it. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

struct Sample {
  double x = 0, entry = 0, y = 0;
};

// a * cos(step * x + down * y) + b * sin(step * x + down * y) + raised.
struct Wave {
  double step = 0, down = 0, a = 1, b = 0, raised = 0;
  double at(double x, double y = 0) const;
};
inline Wave wave_of(bool sine, double step, double down = 0) {
  return {step, down, sine ? 0.0 : 1.0, sine ? 1.0 : 0.0, 0};
}

// What of a wave is to be found.
enum Free : unsigned { kStep = 1, kDown = 2, kHeights = 4, kRaised = 8 };

// Gauss and Newton's method from the wave on, in so many rounds. By how much an error of the samples may grow in what is found; nullopt
// where they leave some of it open, and the wave is as it was before the round.
std::optional<double> refine(Wave& wave, std::span<const Sample> samples, unsigned free, int rounds);

// cos(step * x), or sin.
struct Angle {
  double step = 0;
  double weight = 0;  // how well the step is known; 0: not at all
};

// Samples by x, rising from above 0. At a larger x the step is better known, up to whole turns, which the
// smaller ones tell; where the function is flat it is not known at all.
Angle angle_of(const std::vector<Sample>& samples, bool sine);
// All that leave every entry near, of which the smallest x may be so many turns on, as places that are told in cells of a larger grid are.
std::vector<Angle> angles_near(const std::vector<Sample>& samples, bool sine, int most_turns);
// From a first guess of the step on.
Angle angle_near(const std::vector<Sample>& samples, bool sine, double guess);
// The same where even the smallest x may be whole turns on, as positions behind a past are: three neighbours in a row tell
// the step well enough to begin with.
Angle angle_from_neighbours(const std::vector<Sample>& samples, bool sine);

// How high the waves of a table are, that is the same for all of its columns: YaRN multiplies its cosines and sines by a
// number of its own. Told by the first column of the longest trace, the fastest wave. nullopt where that is none, or 1 high, and of a
// few columns, which do not tell that they share it.
std::optional<double> amplitude_of(const View& list);

// The wave and a number that leave least of the samples, of steps up to a turn or so; nullopt where that is another one.
std::optional<Wave> raised_wave_of(std::span<const Sample> samples, bool sine);
double mean_square_of(const Wave& wave, std::span<const Sample> samples);  // of what it leaves

// Whether an entry is that of a wave. Its angle was rounded to float32 before its cosine was taken.
bool is_near_wave(const View& view, double entry, double of_wave, double angle);
// Whether no entry is higher than that of a cosine.
bool are_waves(const View& view);
// Beside columns that are cosines of positions, one that is 1 as far as the traces go may be another that turns too slowly for them: of
// a column alone nothing tells (fit_columns.cc).
bool has_slow_wave(const View& list);
// Whether a column may be a wave of places that are equally far apart, and a number: f(i - 1) + f(i + 1) is then a multiple of f(i), and
// another number. Most of what is none is told so, and in one pass.
bool may_be_raised_wave(const View& column);

}  // namespace thaw::lifting
