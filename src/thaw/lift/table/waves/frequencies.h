// Frequencies of cosines and sines: powers of one base, and what else makes rotary ones exact.
//
// Slow ones are badly known from the few positions of a trace, and what is known badly is wrong far behind them. Scaled ones
// (math/rotary_frequencies.h) have a base and a factor all the same, which fewer of them tell; and a cosine hardly moves where
// the sine beside it says what both turn by. Internal to lift/.
#pragma once

#include <cstddef>
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

// What is known of one of a row of frequencies; its weight is 0 where it is not known at all.
struct KnownStep {
  double step = 0, weight = 0;
};

// first * base^(-i / n): of columns, each `times` in a row, and all `count` of them again; behind `width` of them there is none.
struct Family {
  double first, base;
  size_t count, times, width;
  double at(size_t column) const;  // 0 behind the family
};
// Those of a base that people write which the steps of columns may be, as far as these are known: the longest first. Three different ones
// tell the line that they lie on.
std::vector<Family> possible_families(const std::vector<KnownStep>& columns);

// A line through the logarithms of frequencies, each weighed by how well it is known: the error of the logarithm is that of the step over
// the step.
class LogLine {
 public:
  void add(double x, const KnownStep& known);
  double spread() const { return sum_ * sum_xx_ - sum_x_ * sum_x_; }  // above 0 where there is a line
  double slope() const { return (sum_ * sum_xy_ - sum_x_ * sum_y_) / spread(); }
  double start() const { return (sum_y_ - slope() * sum_x_) / sum_; }
  // How much the line gives at a place for an error of 1 in what it goes through.
  double error_at(double x) const;

 private:
  double sum_ = 0, sum_x_ = 0, sum_y_ = 0, sum_xx_ = 0, sum_xy_ = 0;
};

// Of frequencies base^(-i / n), the base that people write: of two digits or fewer, where it is that to four.
double rounded_base(double base);
// Whether it is one. What has more digits is not known well enough far behind the traces.
bool is_written_base(double base);

}  // namespace thaw::lifting
