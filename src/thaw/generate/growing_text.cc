#include "thaw/generate/growing_text.h"

#include <string_view>
#include <utility>

namespace thaw::generating {
namespace {

constexpr std::string_view kUnfinished = "\xEF\xBF\xBD";

bool is_finished(std::string_view text) { return !text.ends_with(kUnfinished); }

}  // namespace

std::string GrowingText::add(int64_t token, bool is_last) {
  tokens_.push_back(token);
  return take(is_last);
}

const std::string& GrowingText::finish() {
  if (shown_ < tokens_.size()) take(true);
  return text_;
}

std::string GrowingText::behind(size_t from, size_t first) const {
  const std::span<const int64_t> all(tokens_);
  const std::string before = from < first ? decode_(all.subspan(from, first - from)) : "";
  std::string whole = decode_(all.subspan(from));
  return whole.starts_with(before) ? whole.substr(before.size()) : decode_(all.subspan(first));
}

std::string GrowingText::taken(std::string added) {
  // A library may end a text where it is broken: such tokens are no context.
  context_ = added.find(kUnfinished) == std::string::npos ? shown_ : tokens_.size();
  shown_ = tokens_.size();
  text_ += added;
  return added;
}

std::string GrowingText::take(bool all) {
  std::string added = behind(context_, shown_);
  if (is_finished(added)) return taken(std::move(added));
  // A character that began, and what came then does not go on with it: it stays broken.
  for (size_t first = shown_ + 1; first < tokens_.size(); ++first) {
    std::string rest = behind(first, first);
    if (rest.empty() || !is_finished(rest)) continue;
    shown_ = first;
    return taken(std::string(kUnfinished) + rest);
  }
  return all ? taken(std::string(kUnfinished)) : "";
}

}  // namespace thaw::generating
