// What a proof says, and of which relation: a scope remembers both. dim/prove/ finds them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

enum class Relation : uint8_t {
  kEqual,
  kAtMost,         // a <= b
  kDivisible,      // b != 0 and a % b == 0
  kBroadcastable,  // a == b or a == 1 or b == 1
};

constexpr std::string_view name_of(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return "equal";
    case Relation::kAtMost:
      return "at most";
    case Relation::kDivisible:
      return "divisible";
    case Relation::kBroadcastable:
      return "broadcast";
  }
  return {};
}

inline bool holds(Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Relation::kEqual:
      return a == b;
    case Relation::kAtMost:
      return a <= b;
    case Relation::kDivisible:
      return b == -1 || (b != 0 && a % b == 0);
    default:
      return a == b || a == 1 || b == 1;
  }
}
// At these sizes; nullopt where a side has no value there.
inline std::optional<bool> holds(Relation relation, Dim a, Dim b, const Assignment& sizes) {
  const auto left = evaluate(a, sizes), right = evaluate(b, sizes);
  if (!left || !right) return std::nullopt;
  return holds(relation, *left, *right);
}

enum class Verdict : uint8_t { kYes, kNo, kUnknown };

struct Proof {
  Verdict verdict = Verdict::kUnknown;
  Assignment counterexample;  // for kNo: the smallest one found (by the sum of distances from 0, then lexicographically
                              // by symbol)
  std::string reason;         // for kUnknown: what stood in the way
  explicit operator bool() const { return verdict == Verdict::kYes; }
};

}  // namespace thaw::dim
