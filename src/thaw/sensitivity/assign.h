// Which unit gets which precision: the multiple-choice knapsack problem.
//
// Of each unit one choice is taken, to stay among them; errors and bytes add up. Solved by dynamic programming over bytes
// (Kellerer, Pferschy and Pisinger, "Knapsack Problems", 2004, section 11.5), on a grid of kGrid steps: what a choice saves is
// rounded down to a step, so that what is found is within the bytes, and at most one step a unit from the best.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace thaw::measuring {

struct Choice {
  int64_t saved = 0;  // bytes
  double error = 0;
};

inline constexpr size_t kGrid = 20000;
inline constexpr size_t kMostChoices = 255;  // of a unit

struct Assigned {
  std::vector<std::optional<size_t>> choices;  // by unit: into its list; none: it stays
  int64_t saved = 0;
  double error = 0;
};

class Assignment {
 public:
  // By unit: what it may become. To stay costs nothing and saves nothing.
  explicit Assignment(std::vector<std::vector<Choice>> units);

  // The least error that saves so many bytes; none where that many cannot be saved.
  std::optional<Assigned> saving(int64_t bytes) const;
  // The most bytes within an error.
  Assigned within(double error) const;
  int64_t most() const { return most_; }  // bytes that can be saved
  // Errors and bytes of the best assignments, from nothing saved to all, at most so many.
  std::vector<Assigned> frontier(size_t points) const;

 private:
  Assigned at(size_t step) const;
  size_t steps_of(int64_t saved) const { return static_cast<size_t>(saved / step_); }

  std::vector<std::vector<Choice>> units_;
  int64_t most_ = 0, step_ = 1;
  std::vector<double> least_;                // by steps that are saved, or more: the error
  std::vector<std::vector<uint8_t>> taken_;  // by unit, by steps: 0 stays, else the choice and 1
};

}  // namespace thaw::measuring
