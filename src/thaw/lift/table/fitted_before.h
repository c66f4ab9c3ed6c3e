// Which of the ways to fit a table did so before: attempts, and traces that are held out, fit the same tables again and again. Internal to
// lift/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

// Ways are told apart by where they are tried.
enum class Ways : uint8_t { kWhole, kGenerators, kKeys, kSequences, kFunctions };

// Tables that are no learned grid resized, by what they hold and the grids that they may be; with what the traces leave open of them.
using NotResized = std::unordered_map<size_t, std::string>;

class FittedBefore {
 public:
  // Of what a table holds: the entries, the lengths, and the sizes of the tables that it was read from, in the traces. more: what else is asked there.
  static uint64_t key_of(const View& view, Ways ways, uint64_t more = 0);

  std::optional<size_t> find(uint64_t key) const {
    const auto known = ways_.find(key);
    return known == ways_.end() ? std::nullopt : std::optional(known->second);
  }
  // The first that did stays: an attempt that is made again finds what it found.
  void note(uint64_t key, size_t way) { ways_.try_emplace(key, way); }

  NotResized not_resized = {};

 private:
  std::unordered_map<uint64_t, size_t> ways_;
};

// The first of so many ways that fits, what fitted before ahead of the others; whatever that is, it is fitted anew, as sizes may be others
// by now. before: may be null.
template <typename Fit>
auto first_way(FittedBefore* before, uint64_t key, size_t count, Fit fit) -> decltype(fit(size_t{0})) {
  const auto known = before ? before->find(key) : std::nullopt;
  if (known && *known < count)
    if (auto found = fit(*known)) return found;
  for (size_t way = 0; way < count; ++way) {
    if (way == known) continue;
    if (auto found = fit(way)) {
      if (before) before->note(key, way);
      return found;
    }
  }
  return {};
}

}  // namespace thaw::lifting
