// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace thaw {

// The known word nearest to `typed` by insertions, deletions, replacements and swaps of neighbours, when it is near
// enough to be meant: at most a third of its letters (one at least) are wrong. Empty otherwise. The first of equals
// wins.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

// " (did you mean 'inspect'?)", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known);

}  // namespace thaw
