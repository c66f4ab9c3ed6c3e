// What keeps a finding the same from one run to the next, for tools that compare runs: it covers the rule and the place, not the wording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thaw/finding.h"

namespace thaw::report {

// FNV-1a, which may go on from a hash.
uint64_t hash_text(std::string_view text, uint64_t hash = 0xcbf29ce484222325u);
// Of the rule and the place of a finding.
uint64_t hash_place(const Finding& finding);

// The fingerprints of a report, no two of them equal.
class Fingerprints {
 public:
  // "0123456789abcdef:2": the second finding of a rule at one place is its second.
  std::string next(uint64_t hash);

 private:
  std::unordered_map<uint64_t, int> seen_;
};

}  // namespace thaw::report
