// What the command is at: for `-v`, which prints how long each phase took, and for the line on a terminal that says what
// takes so long.
//
//   const Phase phase("inferring sizes");
//
// Phases nest; the time of one is without those inside it. Those of the first thread that begins one count, others' do
// not: they work on behalf of it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace thaw {

class Phase {
 public:
  explicit Phase(const char* name);  // a literal: it is kept
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  bool counts_;
};

struct PhaseTime {
  std::string_view name;
  size_t count = 0;
  double seconds = 0;
};

// In the order in which they were first begun.
std::vector<PhaseTime> phase_times();

// The innermost that is under way, asked from any thread; null between phases.
const char* current_phase();

}  // namespace thaw
