#include "thaw/media/text/expand.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::media {

std::vector<int64_t> expanded(const std::vector<int64_t>& ids, const std::vector<Placeholder>& placeholders) {
  for (const Placeholder& placeholder : placeholders) {
    const auto found = static_cast<size_t>(std::ranges::count(ids, placeholder.id));
    if (found == placeholder.tokens.size()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("it has {} placeholder{} (token {}) for {} {}{}", found, found == 1 ? "" : "s",
                                     placeholder.id, placeholder.tokens.size(), placeholder.what,
                                     placeholder.tokens.size() == 1 ? "" : "s"),
                 .where = "the prompt",
                 .expected = "one for each, as the checkpoint's chat template writes it"});
  }
  std::vector<int64_t> result;
  std::vector<size_t> next(placeholders.size());
  for (const int64_t id : ids) {
    const auto found = std::ranges::find(placeholders, id, &Placeholder::id);
    const auto which = static_cast<size_t>(found - placeholders.begin());
    const int64_t count = found == placeholders.end() ? 1 : found->tokens[next[which]++];
    result.insert(result.end(), static_cast<size_t>(count), id);
  }
  return result;
}

}  // namespace thaw::media
